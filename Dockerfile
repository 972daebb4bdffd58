# Tessera for servers without a screen: the program from the archive for Linux, its
# Dawn, unpacked so that containers may be read-only, the Vulkan loader, and Mesa's
# drivers for AMD, Intel and the processor; NVIDIA's come from its container toolkit.
# docs/guides/server.md and docs/guides/many-clips.md say how it is run.
#
#   tools/dist.sh linux/amd64 && docker build -t tessera .
#
# make test-container runs these steps without a daemon, in a chroot.
FROM debian:trixie-slim AS archive
RUN apt-get update && apt-get install -y --no-install-recommends unzip
COPY build/dist/tessera-*-linux-amd64.zip /archive/
RUN unzip -q '/archive/*.zip' -d /unpacked && mv /unpacked/* /tessera && \
    { XDG_CACHE_HOME=/cache /tessera/tessera devices >/dev/null 2>&1 || true; } && \
    install -m 755 /cache/tessera/dawn/dawn-*/libwebgpu_dawn.so /tessera/

FROM debian:trixie-slim
# --build-arg DRIVERS= leaves Mesa's out, 200 MB, where all cards are NVIDIA's.
ARG DRIVERS=mesa-vulkan-drivers
# libx11-6 and libxext6 are what NVIDIA's Vulkan driver is linked with, screen or not.
RUN apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates ffmpeg libvulkan1 libx11-6 libxext6 $DRIVERS && \
    rm -rf /var/lib/apt/lists/*
COPY --from=archive /tessera /opt/tessera
RUN ln -s /opt/tessera/tessera /usr/local/bin/tessera && \
    mkdir -m 1777 /var/cache/tessera /work
# Caches are of whoever runs it; the toolkit brings Vulkan with "graphics".
ENV XDG_CACHE_HOME=/var/cache/tessera
ENV TESSERA_DAWN=/opt/tessera/libwebgpu_dawn.so
ENV NVIDIA_DRIVER_CAPABILITIES=graphics,utility
USER 10001
WORKDIR /work
ENTRYPOINT ["tessera"]
CMD ["--help"]
