package gpu

type faultInjector struct{}

func (*Device) injectedFault(int64) error { return nil }
