"""Compiles, links and launches kernels through hip-python 10, and checks what they write."""

import array
import ctypes

from hip import hip, hiprtc


def check(result):
    error, *values = result
    if error not in (hip.hipError_t.hipSuccess, hiprtc.hiprtcResult.HIPRTC_SUCCESS):
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else tuple(values)


def compiled(source, options):
    program = check(hiprtc.hiprtcCreateProgram(source, b"program", 0, [], []))
    (error,) = hiprtc.hiprtcCompileProgram(program, len(options), options)
    if error != hiprtc.hiprtcResult.HIPRTC_SUCCESS:
        log = bytearray(check(hiprtc.hiprtcGetProgramLogSize(program)))
        check(hiprtc.hiprtcGetProgramLog(program, log))
        raise RuntimeError(log.decode())
    return program


def code_of(program):
    code = bytearray(check(hiprtc.hiprtcGetCodeSize(program)))
    check(hiprtc.hiprtcGetCode(program, code))
    return code


def launch(code, factor):
    module = check(hip.hipModuleLoadData(code))
    kernel = check(hip.hipModuleGetFunction(module, b"scale"))
    count = 100
    host = array.array("f", range(count))
    size = host.itemsize * count
    device = check(hip.hipMalloc(size))
    kinds = hip.hipMemcpyKind
    check(hip.hipMemcpy(device, host, size, kinds.hipMemcpyHostToDevice))
    check(
        hip.hipModuleLaunchKernel(
            kernel, 2, 1, 1, 64, 1, 1, 0, None, None,
            (ctypes.c_float(factor), ctypes.c_int(count), device),
        )
    )
    check(hip.hipMemcpy(host, device, size, kinds.hipMemcpyDeviceToHost))
    assert list(host) == [factor * x for x in range(count)], list(host)
    check(hip.hipFree(device))
    check(hip.hipModuleUnload(module))


KERNEL = b"""
extern "C" __global__ void scale(float factor, int n, float *x) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) x[i] *= factor;
}
"""
# For the current device: no option names a target.
launch(code_of(compiled(KERNEL, [])), 3.0)

try:
    compiled(b"this is no C++", [])
except RuntimeError as error:
    assert "error:" in str(error), error
else:
    raise AssertionError("what is no program was compiled")
print("ok")
