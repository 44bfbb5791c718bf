// SPDX-License-Identifier: Apache-2.0
//
// cuda.h, and what older ones lack: the double has the same entries whichever it is built with (CUDA 11.8 and newer).
#pragma once

#include <cuda.h>

#if CUDA_VERSION < 11080
#error "the CUDA double needs cuda.h of CUDA 11.8 or newer"
#endif

#if CUDA_VERSION < 12000
typedef enum CUdriverProcAddressQueryResult_enum {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;
#endif

#if CUDA_VERSION < 12050
struct CUctxCreateParams;
#endif

#if CUDA_VERSION < 12000
typedef struct CUkern_st* CUkernel;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS_v2;
typedef struct CUgraphExecUpdateResultInfo_st {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
} CUgraphExecUpdateResultInfo;
#endif

#if CUDA_VERSION < 12030
typedef struct CUgraphEdgeData_st {
  unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;
#endif
