// Addresses of a GPU's memory are numbers for the driver's API, where HIP has pointers: the functions with such addresses, which are HIP's by
// another name, and the structures with them, whose fields are where HIP's are.
#pragma once
#include "ferrocm_rows.h"
#undef CUdeviceptr
#undef CUdeviceptr_v1
#undef CUdeviceptr_v2
typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;
typedef CUdeviceptr_v2 CUdeviceptr_v1;
// A function of HIP's under CUDA's name and with CUDA's types: the linker's name is HIP's.
#define __CU_ADDRESSED(NAME, SYMBOL, ...) CUresult NAME(__VA_ARGS__) __asm__(#SYMBOL);

#undef CUDA_MEMCPY2D
#undef CUDA_MEMCPY2D_st
#undef CUDA_MEMCPY2D_v1
#undef CUDA_MEMCPY2D_v2
typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes;
    size_t srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} CUDA_MEMCPY2D;
typedef CUDA_MEMCPY2D CUDA_MEMCPY2D_v1;
typedef CUDA_MEMCPY2D CUDA_MEMCPY2D_v2;
#if defined(__cplusplus)
static_assert(sizeof(CUDA_MEMCPY2D) == sizeof(hip_Memcpy2D), "HIP's fields");
#endif
#undef CUDA_MEMCPY3D
#undef CUDA_MEMCPY3D_st
#undef CUDA_MEMCPY3D_v1
#undef CUDA_MEMCPY3D_v2
typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} CUDA_MEMCPY3D;
typedef CUDA_MEMCPY3D CUDA_MEMCPY3D_v1;
typedef CUDA_MEMCPY3D CUDA_MEMCPY3D_v2;
#if defined(__cplusplus)
static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(HIP_MEMCPY3D), "HIP's fields");
#endif
#undef CUDA_MEMSET_NODE_PARAMS
#undef CUDA_MEMSET_NODE_PARAMS_st
#undef CUDA_MEMSET_NODE_PARAMS_v1
typedef struct CUDA_MEMSET_NODE_PARAMS_st {
    CUdeviceptr dst;
    unsigned int elementSize;
    size_t height;
    size_t pitch;
    unsigned int value;
    size_t width;
} CUDA_MEMSET_NODE_PARAMS;
typedef CUDA_MEMSET_NODE_PARAMS CUDA_MEMSET_NODE_PARAMS_v1;
#if defined(__cplusplus)
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == sizeof(hipMemsetParams), "HIP's fields");
#endif
#undef CUDA_MEM_ALLOC_NODE_PARAMS
#undef CUDA_MEM_ALLOC_NODE_PARAMS_st
#undef CUDA_MEM_ALLOC_NODE_PARAMS_v1
typedef struct CUDA_MEM_ALLOC_NODE_PARAMS_st {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    CUdeviceptr dptr;
} CUDA_MEM_ALLOC_NODE_PARAMS;
typedef CUDA_MEM_ALLOC_NODE_PARAMS CUDA_MEM_ALLOC_NODE_PARAMS_v1;
#if defined(__cplusplus)
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == sizeof(hipMemAllocNodeParams), "HIP's fields");
#endif
#undef CUDA_RESOURCE_DESC
#undef CUDA_RESOURCE_DESC_st
#undef CUDA_RESOURCE_DESC_v1
typedef struct CUDA_RESOURCE_DESC_st {
    CUresourcetype resType;
    union {
        struct {
            CUarray hArray;
        } array;
        struct {
            CUmipmappedArray hMipmappedArray;
        } mipmap;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned int numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned int numChannels;
            size_t width;
            size_t height;
            size_t pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned int flags;
} CUDA_RESOURCE_DESC;
typedef CUDA_RESOURCE_DESC CUDA_RESOURCE_DESC_v1;
#if defined(__cplusplus)
static_assert(sizeof(CUDA_RESOURCE_DESC) == sizeof(HIP_RESOURCE_DESC), "HIP's fields");
#endif

// Memory.
#undef cuModuleGetGlobal
__CU_ADDRESSED(cuModuleGetGlobal, hipModuleGetGlobal, CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
#undef cuModuleGetGlobal_v2
#define cuModuleGetGlobal_v2 cuModuleGetGlobal
#undef cuMemAlloc
__CU_ADDRESSED(cuMemAlloc, hipMalloc, CUdeviceptr *address, size_t size)
#undef cuMemAlloc_v2
#define cuMemAlloc_v2 cuMemAlloc
#undef cuMemAllocPitch
__CU_ADDRESSED(cuMemAllocPitch, hipMemAllocPitch, CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
#undef cuMemAllocPitch_v2
#define cuMemAllocPitch_v2 cuMemAllocPitch
#undef cuMemAllocManaged
__CU_ADDRESSED(cuMemAllocManaged, hipMallocManaged, CUdeviceptr *address, size_t size, unsigned flags)
#undef cuMemFree
__CU_ADDRESSED(cuMemFree, hipFree, CUdeviceptr address)
#undef cuMemFree_v2
#define cuMemFree_v2 cuMemFree
#undef cuMemGetAddressRange
__CU_ADDRESSED(cuMemGetAddressRange, hipMemGetAddressRange, CUdeviceptr *base, size_t *size, CUdeviceptr address)
#undef cuMemGetAddressRange_v2
#define cuMemGetAddressRange_v2 cuMemGetAddressRange
#undef cuMemHostGetDevicePointer
__CU_ADDRESSED(cuMemHostGetDevicePointer, hipHostGetDevicePointer, CUdeviceptr *address, void *host, unsigned flags)
#undef cuMemHostGetDevicePointer_v2
#define cuMemHostGetDevicePointer_v2 cuMemHostGetDevicePointer
#undef cuMemAllocAsync
__CU_ADDRESSED(cuMemAllocAsync, hipMallocAsync, CUdeviceptr *address, size_t size, CUstream stream)
#undef cuMemAllocFromPoolAsync
__CU_ADDRESSED(cuMemAllocFromPoolAsync, hipMallocFromPoolAsync, CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)
#undef cuMemFreeAsync
__CU_ADDRESSED(cuMemFreeAsync, hipFreeAsync, CUdeviceptr address, CUstream stream)
#undef cuMemPoolExportPointer
__CU_ADDRESSED(cuMemPoolExportPointer, hipMemPoolExportPointer, CUmemPoolPtrExportData *data, CUdeviceptr address)
#undef cuMemPoolImportPointer
__CU_ADDRESSED(cuMemPoolImportPointer, hipMemPoolImportPointer, CUdeviceptr *address, CUmemoryPool pool, CUmemPoolPtrExportData *data)
#undef cuIpcGetMemHandle
__CU_ADDRESSED(cuIpcGetMemHandle, hipIpcGetMemHandle, CUipcMemHandle *handle, CUdeviceptr address)
#undef cuIpcOpenMemHandle
__CU_ADDRESSED(cuIpcOpenMemHandle, hipIpcOpenMemHandle, CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
#undef cuIpcCloseMemHandle
__CU_ADDRESSED(cuIpcCloseMemHandle, hipIpcCloseMemHandle, CUdeviceptr address)
#undef cuExternalMemoryGetMappedBuffer
__CU_ADDRESSED(cuExternalMemoryGetMappedBuffer, hipExternalMemoryGetMappedBuffer, CUdeviceptr *address, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *buffer)
#undef cuMemAddressReserve
__CU_ADDRESSED(cuMemAddressReserve, hipMemAddressReserve, CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags)
#undef cuMemAddressFree
__CU_ADDRESSED(cuMemAddressFree, hipMemAddressFree, CUdeviceptr address, size_t size)
#undef cuMemMap
__CU_ADDRESSED(cuMemMap, hipMemMap, CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
#undef cuMemUnmap
__CU_ADDRESSED(cuMemUnmap, hipMemUnmap, CUdeviceptr address, size_t size)
#undef cuMemSetAccess
__CU_ADDRESSED(cuMemSetAccess, hipMemSetAccess, CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
#undef cuMemGetAccess
__CU_ADDRESSED(cuMemGetAccess, hipMemGetAccess, unsigned long long *flags, const CUmemLocation *place, CUdeviceptr address)
#undef cuMemGetHandleForAddressRange
__CU_ADDRESSED(cuMemGetHandleForAddressRange, hipMemGetHandleForAddressRange, void *handle, CUdeviceptr address, size_t size, CUmemRangeHandleType type, unsigned long long flags)
#undef cuMemRangeGetAttribute
__CU_ADDRESSED(cuMemRangeGetAttribute, hipMemRangeGetAttribute, void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address, size_t count)
#undef cuMemRangeGetAttributes
__CU_ADDRESSED(cuMemRangeGetAttributes, hipMemRangeGetAttributes, void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n, CUdeviceptr address, size_t count)
#undef cuPointerGetAttribute
__CU_ADDRESSED(cuPointerGetAttribute, hipPointerGetAttribute, void *data, CUpointer_attribute attribute, CUdeviceptr address)
#undef cuPointerGetAttributes
__CU_ADDRESSED(cuPointerGetAttributes, hipDrvPointerGetAttributes, unsigned n, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
#undef cuPointerSetAttribute
__CU_ADDRESSED(cuPointerSetAttribute, hipPointerSetAttribute, const void *value, CUpointer_attribute attribute, CUdeviceptr address)
#undef cuStreamAttachMemAsync
__CU_ADDRESSED(cuStreamAttachMemAsync, hipStreamAttachMemAsync, CUstream stream, CUdeviceptr address, size_t size, unsigned flags)

// Copies.
#undef cuMemcpyHtoD
__CU_ADDRESSED(cuMemcpyHtoD, hipMemcpyHtoD, CUdeviceptr to, const void *from, size_t size)
#undef cuMemcpyHtoD_v2
#define cuMemcpyHtoD_v2 cuMemcpyHtoD
#undef cuMemcpyDtoH
__CU_ADDRESSED(cuMemcpyDtoH, hipMemcpyDtoH, void *to, CUdeviceptr from, size_t size)
#undef cuMemcpyDtoH_v2
#define cuMemcpyDtoH_v2 cuMemcpyDtoH
#undef cuMemcpyDtoD
__CU_ADDRESSED(cuMemcpyDtoD, hipMemcpyDtoD, CUdeviceptr to, CUdeviceptr from, size_t size)
#undef cuMemcpyDtoD_v2
#define cuMemcpyDtoD_v2 cuMemcpyDtoD
#undef cuMemcpyDtoA
__CU_ADDRESSED(cuMemcpyDtoA, hipMemcpyDtoA, CUarray to, size_t offset, CUdeviceptr from, size_t size)
#undef cuMemcpyDtoA_v2
#define cuMemcpyDtoA_v2 cuMemcpyDtoA
#undef cuMemcpyAtoD
__CU_ADDRESSED(cuMemcpyAtoD, hipMemcpyAtoD, CUdeviceptr to, CUarray from, size_t offset, size_t size)
#undef cuMemcpyAtoD_v2
#define cuMemcpyAtoD_v2 cuMemcpyAtoD
#undef cuMemcpyHtoDAsync
__CU_ADDRESSED(cuMemcpyHtoDAsync, hipMemcpyHtoDAsync, CUdeviceptr to, const void *from, size_t size, CUstream stream)
#undef cuMemcpyHtoDAsync_v2
#define cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
__CU_ADDRESSED(cuMemcpyDtoHAsync, hipMemcpyDtoHAsync, void *to, CUdeviceptr from, size_t size, CUstream stream)
#undef cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync
#undef cuMemcpyDtoDAsync
__CU_ADDRESSED(cuMemcpyDtoDAsync, hipMemcpyDtoDAsync, CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
#undef cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync
#undef cuMemcpy2D
__CU_ADDRESSED(cuMemcpy2D, hipMemcpyParam2D, const CUDA_MEMCPY2D *copy)
#undef cuMemcpy2D_v2
#define cuMemcpy2D_v2 cuMemcpy2D
#undef cuMemcpy2DUnaligned
__CU_ADDRESSED(cuMemcpy2DUnaligned, hipDrvMemcpy2DUnaligned, const CUDA_MEMCPY2D *copy)
#undef cuMemcpy2DUnaligned_v2
#define cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned
#undef cuMemcpy2DAsync
__CU_ADDRESSED(cuMemcpy2DAsync, hipMemcpyParam2DAsync, const CUDA_MEMCPY2D *copy, CUstream stream)
#undef cuMemcpy2DAsync_v2
#define cuMemcpy2DAsync_v2 cuMemcpy2DAsync
#undef cuMemcpy3D
__CU_ADDRESSED(cuMemcpy3D, hipDrvMemcpy3D, const CUDA_MEMCPY3D *copy)
#undef cuMemcpy3D_v2
#define cuMemcpy3D_v2 cuMemcpy3D
#undef cuMemcpy3DAsync
__CU_ADDRESSED(cuMemcpy3DAsync, hipDrvMemcpy3DAsync, const CUDA_MEMCPY3D *copy, CUstream stream)
#undef cuMemcpy3DAsync_v2
#define cuMemcpy3DAsync_v2 cuMemcpy3DAsync

// Fills.
#undef cuMemsetD8
__CU_ADDRESSED(cuMemsetD8, hipMemsetD8, CUdeviceptr to, unsigned char value, size_t n)
#undef cuMemsetD8_v2
#define cuMemsetD8_v2 cuMemsetD8
#undef cuMemsetD16
__CU_ADDRESSED(cuMemsetD16, hipMemsetD16, CUdeviceptr to, unsigned short value, size_t n)
#undef cuMemsetD16_v2
#define cuMemsetD16_v2 cuMemsetD16
#undef cuMemsetD32
__CU_ADDRESSED(cuMemsetD32, hipMemsetD32, CUdeviceptr to, unsigned value, size_t n)
#undef cuMemsetD32_v2
#define cuMemsetD32_v2 cuMemsetD32
#undef cuMemsetD2D8
__CU_ADDRESSED(cuMemsetD2D8, hipMemsetD2D8, CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height)
#undef cuMemsetD2D8_v2
#define cuMemsetD2D8_v2 cuMemsetD2D8
#undef cuMemsetD2D16
__CU_ADDRESSED(cuMemsetD2D16, hipMemsetD2D16, CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height)
#undef cuMemsetD2D16_v2
#define cuMemsetD2D16_v2 cuMemsetD2D16
#undef cuMemsetD2D32
__CU_ADDRESSED(cuMemsetD2D32, hipMemsetD2D32, CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
#undef cuMemsetD2D32_v2
#define cuMemsetD2D32_v2 cuMemsetD2D32
#undef cuMemsetD8Async
__CU_ADDRESSED(cuMemsetD8Async, hipMemsetD8Async, CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
#undef cuMemsetD16Async
__CU_ADDRESSED(cuMemsetD16Async, hipMemsetD16Async, CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
#undef cuMemsetD32Async
__CU_ADDRESSED(cuMemsetD32Async, hipMemsetD32Async, CUdeviceptr to, unsigned value, size_t n, CUstream stream)
#undef cuMemsetD2D8Async
__CU_ADDRESSED(cuMemsetD2D8Async, hipMemsetD2D8Async, CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream)
#undef cuMemsetD2D16Async
__CU_ADDRESSED(cuMemsetD2D16Async, hipMemsetD2D16Async, CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream)
#undef cuMemsetD2D32Async
__CU_ADDRESSED(cuMemsetD2D32Async, hipMemsetD2D32Async, CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream)

// Streams, graphs, textures.
#undef cuStreamWaitValue32
// HIP has a mask in addition.
__CUDA_API CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
    return (hipStreamWaitValue32)(stream, (void *)address, value, flags, 0xffffffffu);
}
#undef cuStreamWaitValue32_v2
#define cuStreamWaitValue32_v2 cuStreamWaitValue32
#undef cuStreamWaitValue64
// HIP has a mask in addition.
__CUDA_API CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
    return (hipStreamWaitValue64)(stream, (void *)address, value, flags, ~0ull);
}
#undef cuStreamWaitValue64_v2
#define cuStreamWaitValue64_v2 cuStreamWaitValue64
#undef cuStreamWriteValue32
__CU_ADDRESSED(cuStreamWriteValue32, hipStreamWriteValue32, CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags)
#undef cuStreamWriteValue32_v2
#define cuStreamWriteValue32_v2 cuStreamWriteValue32
#undef cuStreamWriteValue64
__CU_ADDRESSED(cuStreamWriteValue64, hipStreamWriteValue64, CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags)
#undef cuStreamWriteValue64_v2
#define cuStreamWriteValue64_v2 cuStreamWriteValue64
#undef cuGraphAddMemcpyNode
__CU_ADDRESSED(cuGraphAddMemcpyNode, hipDrvGraphAddMemcpyNode, CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, const CUDA_MEMCPY3D *copy, CUcontext context)
#undef cuGraphMemcpyNodeGetParams
__CU_ADDRESSED(cuGraphMemcpyNodeGetParams, hipDrvGraphMemcpyNodeGetParams, CUgraphNode node, CUDA_MEMCPY3D *copy)
#undef cuGraphMemcpyNodeSetParams
__CU_ADDRESSED(cuGraphMemcpyNodeSetParams, hipDrvGraphMemcpyNodeSetParams, CUgraphNode node, const CUDA_MEMCPY3D *copy)
#undef cuGraphExecMemcpyNodeSetParams
__CU_ADDRESSED(cuGraphExecMemcpyNodeSetParams, hipDrvGraphExecMemcpyNodeSetParams, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context)
#undef cuGraphAddMemFreeNode
__CU_ADDRESSED(cuGraphAddMemFreeNode, hipDrvGraphAddMemFreeNode, CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, CUdeviceptr address)
#undef cuGraphMemFreeNodeGetParams
__CU_ADDRESSED(cuGraphMemFreeNodeGetParams, hipGraphMemFreeNodeGetParams, CUgraphNode node, CUdeviceptr *address)
#undef cuGraphAddMemsetNode
__CU_ADDRESSED(cuGraphAddMemsetNode, hipDrvGraphAddMemsetNode, CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
#undef cuGraphMemsetNodeGetParams
__CU_ADDRESSED(cuGraphMemsetNodeGetParams, hipGraphMemsetNodeGetParams, CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *fill)
#undef cuGraphMemsetNodeSetParams
__CU_ADDRESSED(cuGraphMemsetNodeSetParams, hipGraphMemsetNodeSetParams, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill)
#undef cuGraphExecMemsetNodeSetParams
__CU_ADDRESSED(cuGraphExecMemsetNodeSetParams, hipDrvGraphExecMemsetNodeSetParams, CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
#undef cuGraphAddMemAllocNode
__CU_ADDRESSED(cuGraphAddMemAllocNode, hipGraphAddMemAllocNode, CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *memory)
#undef cuGraphMemAllocNodeGetParams
__CU_ADDRESSED(cuGraphMemAllocNodeGetParams, hipGraphMemAllocNodeGetParams, CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *memory)
#undef cuTexObjectCreate
__CU_ADDRESSED(cuTexObjectCreate, hipTexObjectCreate, CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
#undef cuTexObjectGetResourceDesc
__CU_ADDRESSED(cuTexObjectGetResourceDesc, hipTexObjectGetResourceDesc, CUDA_RESOURCE_DESC *resource, CUtexObject object)
#undef __CU_ADDRESSED
