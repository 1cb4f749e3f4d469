#include <hip/hip_runtime.h>
#define hipGraphInstantiateWithFlags(a, b, c) own(a, b, c)
void f() {
  hipGraphInstantiateWithFlags(&exec, graph, 0);
  hipGraphInstantiate(&exec, graph, &error, log, sizeof(log));
  hipGraphInstantiateWithFlags(&exec, graph,
                     f(hipGraphInstantiateFlagUpload, 1));
  auto instantiate = &hipGraphInstantiate;
  hipGraphLaunch(exec, stream);
  hipGraphExecUpdate(exec, graph, &node, &result);
}
