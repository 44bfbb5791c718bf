#include <anyplace/anyplace.h>

#include <cstdio>
#include <vector>

int main() {
  const anyplace::Device device("cpu_sim:0");
  const anyplace::Stream stream(device), branch(device);
  const anyplace::Buffer left(stream, 4096), right(stream, 4096);
  right.record_stream(branch);
  std::vector<std::uint8_t> out(4096);

  stream.begin_capture();  // nothing runs now: each call becomes a node
  stream.memset8(left, 1);
  branch.wait_event(stream.record_event());  // `branch` joins the capture
  branch.memset8(right, 2);
  stream.wait_stream(branch);  // and is waited for before its end
  stream.copy(left.sub(0, 2048), right.sub(0, 2048));
  stream.copy(out, left);
  const anyplace::Graph graph = stream.end_capture();

  const anyplace::GraphExec exec = graph.instantiate();
  for (int i = 0; i < 1000; ++i) exec.launch(stream);  // all of it, in the stream's order
  stream.synchronize();
  std::printf("%zu nodes, launched 1000 times: %d %d\n", graph.size(), out.front(), out.back());
  return out.front() == 2 && out.back() == 1 ? 0 : 1;
}
