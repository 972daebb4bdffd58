package dawn
import ("testing";"unsafe";"tessera/gpu/internal/driver";"fmt";"os")
func TestZZ(t *testing.T) {
  in, list, err := discover(driver.Options{Library: os.Getenv("ZZ"), Backend: os.Getenv("ZB")}); if err != nil { t.Fatal(err) }
  for _, a := range list {
  fmt.Printf("%s %+v\n", in.vintage.name, a.info)
  for _, f := range a.features { fmt.Printf("%x ", f) }
  raw := make([]uint32, 64)
  for i := range raw { raw[i] = 0xabababab }
  raw[0], raw[1] = 0, 0
  call(a.AdapterGetLimits, a.handle, uintptr(unsafe.Pointer(&raw[0])))
  for i := range raw { if raw[i] != 0xabababab {fmt.Print(i*4,":",raw[i]," ")} }
  fmt.Println()
  }
  releaseAll(in, list)
}
