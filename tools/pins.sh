# Downloads, pinned by version and hash; sourced by deps.sh.
#
# To move a pin: change the version and the archive hash, run, copy the library's hash
# from the error message, and name a new directory.

# The stable API: Dawn of October 2026, from a wheel.
wheel=rillfacet==0.1.3
wheel_pin=dawn-2026-10
wheel_linux=371c6c831aa43310d2112a7001ce94b36b8e5753af23ce44ef57c9ce97793b70
wheel_linux_lib=8481cc4a8a306d25299ddb6ee9ac3c5e6114da9e42c695adb68f86193c9de5a6
wheel_macos=c3935306543a71af559784055c1ef199d55d0b157328e3599a67a3eebe2f48fe
wheel_macos_lib=11220e249835134c797f8e3e6c9c99692953cf9a9d6f811fe53e16711ad9b722

# This wheel for Windows lacks f16 and subgroups, so it is only for tests.
wheel_windows=64a2e9feb86ba9951f65948df13b60aaba2f659ac39f7e63b466bfdca66c7636
wheel_windows_lib=caeca8710d46124fdaa71ed8e1e25dd41d91a8f7f7c0781066bb2ecbf190d03c

# The API of 2025, before it was stable: for Windows, if the newer one does not load.
npm_pin=dawn-2025
npm_linux=bun-webgpu-linux-x64@0.1.7
npm_linux_hash=UEP7UZdEhx9otvkZczjsszL8ZVlrODANQvgl+C88/bNVmxDoFi7w1fWzGi1sZyakiETjmtFDq2/xCLhbSZxjqw==
npm_linux_lib=3190c3777f2c07fcf6a0640833cbf5d0cde859dc53aed6d9083946d093198788
npm_windows=bun-webgpu-win32-x64@0.1.5
npm_windows_hash=zvnUl4EAsQbKsmZVu+lEJcH8axQ7MiCfqg2OmnHd6uw1THABmHaX0GbpKiHshdgadNN2Nf+4zDyTJB5YMcAdrA==
npm_windows_lib=03c6162c2a6c4f432e602738c4e03903d518370b232a8c5cf07dd36ba6dc6441

# ONNX Runtime's WebGPU provider: the stable API, of September 2026, for Windows and
# for Linux on ARM, and the shader compiler that Dawn's D3D12 backend loads. It does not
# export its Dawn: gpu/internal/dawn/hidden.go has the places of its functions, which
# tools/hidden finds.
provider=onnxruntime-ep-webgpu==0.4.0
provider_pin=dawn-2026-09
provider_windows=7db646669d1a2390551da675115ea125e68cb3d4d2c3a2d6e463372bf8d6ea87
provider_windows_lib=85d7b2065b1968b846cd00d5d87d5286d3c44e8f6c557cd382d96300e524b6cb
provider_windows_dxcompiler=d7e740883f8048233d15752bc5d4ba207fc03d835c78fffab26387d400892193
provider_windows_dxil=0a0d059a51dd5e1916a4a9924817d70b5dbb8e0c103a102fa2c6c92cb748c27f
provider_linux=5d8c961eda91a88961cad1fb7621f389f006b18497d6ea9ecf96f729f066cbfb # for tests
provider_linux_lib=9f76e3dc4459421958ad086a9da03bf7e5de9289e9a3a56e28bbb459773dec81
provider_licence_file=onnxruntime_ep_webgpu-0.4.0.dist-info/licenses/LICENSE
provider_licence=c250d6278f0b47a6439fb7592b08b58a55eb9f535aa49a1db63211c3f982b674
provider_notices_file=onnxruntime_ep_webgpu-0.4.0.dist-info/licenses/ThirdPartyNotices.txt
provider_notices=c53a76501ef60db6f865f20599f220761201ac4057683acefdab37d861b86622

# Microsoft's C++ runtime, which those Dawns link with and some versions of Windows
# lack.
msvc=msvc-runtime==14.51.36231
msvc_hash=89f70d1a37bb64164cdb09d02dd82d6b1400e1310be2995b4ed5a9f23efe2222
msvc_folder=msvc_runtime-14.51.36231.data/data/Scripts
msvc_msvcp=7c26614e1d733892c2deac7e245ce115504b1d80592dd0a01b08e3e5a55f89ca
msvc_msvcp_wait=3d0cbfaa1bf3eecf5a3f4491d2960ee803cb994f30292c6adc4a07c498f60e2b
msvc_vcruntime=d1f4225df2cd877dbf130d5668a021dce3f94118455ff5ec952061c30afc9ce7
msvc_vcruntime_1=a7146c08f89fe5b04541ab507cdb59ff7b44534d4ba3c668a426c6450a03434e

# For the archives of tools/dist.sh: Microsoft's older compiler, which every Windows
# has but Wine lacks, and licences.
fxc=webgpu@0.6.2
fxc_hash=3L4GfmqJLvYUIEWJngEQY+2HQiUlAFkg8+P8NDDj3Xx5hHHIFO/r8JW+ynfqBj7kHN4mbnwO74uB+lrRtLhp4Q==
fxc_d3dcompiler=289767b49dc8525bce262ea06fee4ef9fced2e131a55b25654ce871c1f0498b2
fxc_dxc_licence=05f32c081b3c75cd2cc2a0655b571ba94ebcfc64e9ccca6e5a9e36d6cb67e540
fxc_dxc_notices=87539fdc00b6350520942dbb0683c56acba5e38f5ddbcded046a6958a1386188
wheel_notices_file=rillfacet-0.1.3.dist-info/licenses/THIRD_PARTY_LICENSES.txt
wheel_notices=38664d29d7e1a838e7a4ce3369340029723b862b7f14723d28e1015dd72aa818
npm_windows_licence=58d1e17ffe5109a7ae296caafcadfdbe6a7d176f0bc4ab01e12a689b0499d8bd
