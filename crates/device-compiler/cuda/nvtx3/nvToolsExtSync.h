// NVTX's <nvtx3/nvToolsExtSync.h> for AMD targets: a program's own locks, for a tool. This project's own timeline has no place for them.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "nvToolsExt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxSyncUserAttributes_v0))
#define NVTX_RESOURCE_CLASS_SYNC_OS 2
#define NVTX_RESOURCE_CLASS_SYNC_PTHREAD 3
typedef enum nvtxResourceSyncPosixThreadType_t {
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_MUTEX = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 1),
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_CONDITION = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 2),
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_RWLOCK = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 3),
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_BARRIER = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 4),
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_SPINLOCK = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 5),
    NVTX_RESOURCE_TYPE_SYNC_PTHREAD_ONCE = NVTX_RESOURCE_MAKE_TYPE(SYNC_PTHREAD, 6)
} nvtxResourceSyncPosixThreadType_t;
typedef enum nvtxResourceSyncLinuxType_t {
    NVTX_RESOURCE_TYPE_SYNC_LINUX_MUTEX = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 1),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_FUTEX = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 2),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_SEMAPHORE = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 3),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_COMPLETION = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 4),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_SPINLOCK = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 5),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_SEQLOCK = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 6),
    NVTX_RESOURCE_TYPE_SYNC_LINUX_RCU = NVTX_RESOURCE_MAKE_TYPE(SYNC_OS, 7)
} nvtxResourceSyncLinuxType_t;
typedef struct nvtxSyncUser *nvtxSyncUser_t;
typedef struct nvtxSyncUserAttributes_v0 {
    uint16_t version;
    uint16_t size;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxSyncUserAttributes_v0;
typedef struct nvtxSyncUserAttributes_v0 nvtxSyncUserAttributes_t;

FERROCM_NVTX(nvtxSyncUser_t, (nvtxSyncUser_t)0, sync, 1, nvtxDomainSyncUserCreate,
             (nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *attributes), (domain, attributes))
FERROCM_NVTX_VOID(sync, 2, nvtxDomainSyncUserDestroy, (nvtxSyncUser_t handle), (handle))
FERROCM_NVTX_VOID(sync, 3, nvtxDomainSyncUserAcquireStart, (nvtxSyncUser_t handle), (handle))
FERROCM_NVTX_VOID(sync, 4, nvtxDomainSyncUserAcquireFailed, (nvtxSyncUser_t handle), (handle))
FERROCM_NVTX_VOID(sync, 5, nvtxDomainSyncUserAcquireSuccess, (nvtxSyncUser_t handle), (handle))
FERROCM_NVTX_VOID(sync, 6, nvtxDomainSyncUserReleasing, (nvtxSyncUser_t handle), (handle))
#ifdef __cplusplus
}
#endif
#include "../ferrocm_letters_end.h"
