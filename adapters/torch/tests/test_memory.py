# SPDX-License-Identifier: Apache-2.0
"""The caching allocator's figures, pinned memory, and running out of memory."""
import gc
import os
import tempfile
import unittest

import torch

DEVICE = "anyplace:0"
MIB = 1 << 20


class Figures(unittest.TestCase):
    def setUp(self):
        gc.collect()
        torch.anyplace.synchronize()

    def test_allocated(self):
        before = torch.anyplace.memory_allocated()
        ours = torch.empty(MIB, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(torch.anyplace.memory_allocated() - before, MIB)
        self.assertEqual(torch.accelerator.memory_allocated(), torch.anyplace.memory_allocated())
        self.assertGreaterEqual(torch.anyplace.memory_reserved(), torch.anyplace.memory_allocated())
        del ours
        self.assertEqual(torch.anyplace.memory_allocated(), before)

    def test_peaks(self):
        torch.anyplace.reset_peak_memory_stats()
        before = torch.anyplace.memory_allocated()
        del (ours := [torch.empty(8 * MIB, dtype=torch.uint8, device=DEVICE)])[:]
        self.assertGreaterEqual(torch.anyplace.max_memory_allocated() - before, 8 * MIB)
        self.assertEqual(torch.accelerator.max_memory_allocated(), torch.anyplace.max_memory_allocated())
        torch.accelerator.reset_peak_memory_stats()
        self.assertEqual(torch.anyplace.max_memory_allocated(), torch.anyplace.memory_allocated())
        self.assertFalse(ours)

    def test_names(self):
        ours, torchs = torch.anyplace.memory_stats(), torch.accelerator.memory_stats()
        self.assertEqual(len(ours), 122)
        for name in ("allocated_bytes.all.current", "reserved_bytes.small_pool.peak", "num_ooms", "active.large_pool.freed"):
            self.assertEqual(ours[name], torchs[name], name)

    def test_cache(self):
        ours = torch.empty(64 * MIB, dtype=torch.uint8, device=DEVICE)
        del ours
        torch.anyplace.synchronize()
        self.assertGreaterEqual(torch.anyplace.memory_reserved(), 64 * MIB)
        torch.anyplace.empty_cache()
        self.assertLess(torch.anyplace.memory_reserved(), 64 * MIB)
        torch.accelerator.empty_cache()

    def test_memory_comes_back(self):
        address = torch.empty(3 * MIB, dtype=torch.uint8, device=DEVICE).data_ptr()
        self.assertEqual(torch.empty(3 * MIB, dtype=torch.uint8, device=DEVICE).data_ptr(), address)

    def test_info(self):
        free, total = torch.anyplace.mem_get_info()
        self.assertGreater(total, 0)
        self.assertLessEqual(free, total)
        self.assertEqual(torch.accelerator.get_memory_info()[1], total)

    def test_summary_and_snapshot(self):
        self.assertIn("anyplace", torch.anyplace.memory_summary() + "anyplace:" + torch.anyplace.place())
        torch.anyplace.memory._record_memory_history()
        torch.empty(MIB, device=DEVICE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "snapshot.pickle")
            torch.anyplace.memory._dump_snapshot(path)
            import pickle

            with open(path, "rb") as file:
                snapshot = pickle.load(file)
        torch.anyplace.memory._record_memory_history(enabled=None)
        self.assertTrue(any(entry["action"] == "alloc" for trace in snapshot["device_traces"] for entry in trace))

    def test_a_list_of_lists_leaks_nothing(self):
        before = torch.anyplace.memory_allocated()
        for _ in range(50):
            ours = torch.randn(100, 100, device=DEVICE, requires_grad=True)
            (ours @ ours).sum().backward()
        del ours
        gc.collect()
        self.assertEqual(torch.anyplace.memory_allocated(), before)


class Pinned(unittest.TestCase):
    def test_pinning(self):
        host = torch.arange(1000.0)
        pinned = host.pin_memory()
        self.assertTrue(pinned.is_pinned())
        self.assertTrue(pinned[10:20].is_pinned())
        self.assertFalse(host.is_pinned())
        self.assertTrue(torch.equal(host, pinned))
        self.assertTrue(torch.empty(5, pin_memory=True).is_pinned())
        self.assertGreaterEqual(torch.anyplace.host_memory_stats()["allocations"], 1)

    def test_copies_that_needn_t_wait(self):
        pinned, back = torch.arange(float(MIB)).pin_memory(), torch.empty(MIB).pin_memory()
        ours = pinned.to(DEVICE, non_blocking=True)
        back.copy_(ours, non_blocking=True)
        torch.anyplace.current_stream().synchronize()
        self.assertTrue(torch.equal(pinned, back))

    def test_may_go_before_the_copy_is_done(self):
        for value in range(1, 30):
            pinned = torch.full((MIB,), float(value)).pin_memory()
            ours = pinned.to(DEVICE, non_blocking=True)
            del pinned
            torch.full((MIB,), -1.0).pin_memory()  # must not be the memory that is being read
            self.assertEqual(ours.sum().item(), value * MIB)


class OutOfMemory(unittest.TestCase):
    def test_figures_and_going_on(self):
        total = torch.anyplace.mem_get_info()[1]
        with self.assertRaises(torch.OutOfMemoryError) as caught:
            torch.empty(total + MIB, dtype=torch.uint8, device=DEVICE)
        text = str(caught.exception)
        self.assertIn("out_of_memory", text)
        for figure in ("requested", "free", "in use"):
            self.assertIn(figure, text)
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_fraction(self):
        held = torch.anyplace.memory_reserved()
        total = torch.anyplace.mem_get_info()[1]
        torch.anyplace.empty_cache()
        torch.anyplace.set_per_process_memory_fraction(min(1.0, (held + 64 * MIB) / total))
        try:
            with self.assertRaises(torch.OutOfMemoryError):
                torch.empty(held + 128 * MIB, dtype=torch.uint8, device=DEVICE)
        finally:
            torch.anyplace.set_per_process_memory_fraction(1.0)


if __name__ == "__main__":
    unittest.main()
