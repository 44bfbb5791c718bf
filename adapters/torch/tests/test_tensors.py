# SPDX-License-Identifier: Apache-2.0
"""Tensors: making, viewing, copying, filling and resizing them. The CPU's are what comes out is held against."""
import itertools
import unittest

import torch

DEVICE = "anyplace:0"
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
         torch.bool, torch.complex64, torch.complex128]


def counted(*shape, dtype=torch.float32):
    """Elements that are all different, where the type has so many values."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


class TensorCase(unittest.TestCase):
    def same(self, ours, cpus):
        self.assertEqual(ours.device.type, "anyplace")
        torch.testing.assert_close(ours.cpu(), cpus, rtol=0, atol=0, equal_nan=True)


class Copies(TensorCase):
    def test_every_type_there_and_back(self):
        for dtype in TYPES:
            host = counted(5, 7, dtype=dtype)
            self.same(host.to(DEVICE), host)

    def test_types_change_on_the_way(self):
        host = counted(4, 4)
        for dtype in TYPES:
            self.same(host.to(DEVICE, dtype), host.to(dtype))
            self.same(host.to(DEVICE).to(dtype), host.to(dtype))
            back = torch.empty(4, 4, dtype=dtype)
            back.copy_(host.to(DEVICE))
            torch.testing.assert_close(back, host.to(dtype))

    def test_strided_sources_and_destinations(self):
        views = {
            "whole": lambda t: t,
            "transposed": lambda t: t.t(),
            "columns": lambda t: t[:, 2:5],
            "every second row": lambda t: t[::2],
            "every second column": lambda t: t[:, ::2],
            "one column": lambda t: t[:, 3],
            "one element": lambda t: t[1, 1],
            "expanded": lambda t: t[:1].expand(6, 8),
        }
        for name, view in views.items():
            with self.subTest(source=name):
                host = counted(6, 8)
                self.same(view(host.to(DEVICE)).contiguous(), view(host).contiguous())
                torch.testing.assert_close(view(host.to(DEVICE)).cpu(), view(host))
            if name == "expanded":
                continue  # not to be written
            with self.subTest(destination=name):
                ours, host = torch.zeros(6, 8, device=DEVICE), torch.zeros(6, 8)
                values = counted(*view(host).shape) + 100
                view(ours).copy_(values)
                view(host).copy_(values)
                self.same(ours, host)
                view(ours).copy_(values.to(DEVICE) * 2)
                view(host).copy_(values * 2)
                self.same(ours, host)

    def test_pairs_of_strides_on_one_device(self):
        orders = list(itertools.permutations(range(3)))
        host = counted(3, 4, 5)
        for source, destination in itertools.product(orders, orders):
            theirs = host.permute(source)
            target = torch.zeros([theirs.shape[destination.index(d)] for d in range(3)]).permute(destination)
            if target.shape != theirs.shape:
                target = torch.zeros(theirs.shape)
            ours = target.to(DEVICE)
            ours.copy_(host.to(DEVICE).permute(source))
            self.same(ours, theirs)

    def test_gaps_stay_as_they_were(self):
        ours = torch.full((4, 6), 7.0, device=DEVICE)
        ours[:, 1:3].copy_(torch.zeros(4, 2))
        ours.t()[4].copy_(torch.ones(4, dtype=torch.int32))
        host = torch.full((4, 6), 7.0)
        host[:, 1:3] = 0
        host.t()[4] = 1
        self.same(ours, host)

    def test_broadcast(self):
        ours = torch.zeros(3, 4, device=DEVICE)
        ours.copy_(torch.arange(4.0))
        self.same(ours, torch.arange(4.0).expand(3, 4))
        ours.copy_(torch.tensor(5.0, device=DEVICE))
        self.same(ours, torch.full((3, 4), 5.0))

    def test_conjugated_and_negated(self):
        host = torch.randn(4, 3, dtype=torch.complex64)
        ours = host.to(DEVICE)
        self.same(ours.conj().resolve_conj(), host.conj().resolve_conj())
        self.same(ours.conj().clone(), host.conj().clone())
        self.same(ours.conj().imag.resolve_neg(), host.conj().imag.resolve_neg())
        self.same(torch.view_as_real(ours), torch.view_as_real(host))
        self.same(torch.view_as_complex(torch.view_as_real(ours)), host)

    def test_between_devices(self):
        if torch.anyplace.device_count() < 2:
            self.skipTest("there is one device")
        host = counted(100, 100)
        there = host.to("anyplace:0").to("anyplace:1")
        self.assertEqual(there.device, torch.device("anyplace:1"))
        torch.testing.assert_close(there.cpu(), host)
        torch.testing.assert_close(there.t().to("anyplace:0").cpu(), host.t())
        torch.testing.assert_close(there.to("anyplace:0", torch.int32).cpu(), host.int())

    def test_large(self):
        host = torch.randn(4 << 20)  # 16 MiB: beyond what goes by way of pinned memory
        self.same(host.to(DEVICE), host)
        source = host.to(DEVICE)
        host.zero_()  # the copy is done with it
        self.assertNotEqual(source.abs().sum().item(), 0)

    def test_source_may_change_after_a_copy_of_any_size(self):
        for size in (1, 1000, 65536, 65537, 1 << 20):
            for non_blocking in (False, True):
                host = torch.ones(size)
                ours = host.to(DEVICE, non_blocking=non_blocking)
                host.zero_()
                self.assertEqual(ours.sum().item(), size)

    def test_empty(self):
        self.same(torch.empty(0, 3).to(DEVICE), torch.empty(0, 3))
        self.same(torch.empty(3, 0, device=DEVICE).clone(), torch.empty(3, 0))


class Views(TensorCase):
    def test_share_memory(self):
        ours, host = counted(4, 6).to(DEVICE), counted(4, 6)
        for view in (lambda t: t.view(24), lambda t: t[1:3], lambda t: t.t(), lambda t: t.unfold(1, 2, 2), lambda t: t.select(0, 1),
                     lambda t: t.as_strided((2, 2), (6, 1), 3), lambda t: t.reshape(2, 12), lambda t: t.squeeze(), lambda t: t.diagonal()):
            view(ours).add_(1)
            view(host).add_(1)
            self.same(ours, host)

    def test_alias_keeps_the_address(self):
        ours = counted(4, 6).to(DEVICE)
        self.assertEqual(ours.view(24).data_ptr(), ours.data_ptr())
        self.assertEqual(ours[1].data_ptr(), ours.data_ptr() + 24)
        self.assertTrue(ours.is_set_to(ours.view(4, 6)))


class Memory(TensorCase):
    def test_fills(self):
        for dtype in TYPES:
            value = True if dtype == torch.bool else 3
            self.same(torch.full((5, 3), value, dtype=dtype, device=DEVICE), torch.full((5, 3), value, dtype=dtype))
            self.same(torch.zeros(7, dtype=dtype, device=DEVICE), torch.zeros(7, dtype=dtype))
        ours, host = torch.ones(4, 4, device=DEVICE), torch.ones(4, 4)
        ours[:, 1].fill_(2)
        host[:, 1].fill_(2)
        ours[2].zero_()
        host[2].zero_()
        ours[3].fill_(torch.tensor(9.0, device=DEVICE))
        host[3].fill_(9)
        self.same(ours, host)

    def test_resize_keeps_what_fits(self):
        ours = torch.arange(6.0, device=DEVICE)
        ours.resize_(2, 3)
        self.same(ours, torch.arange(6.0).reshape(2, 3))
        ours.resize_(100)
        torch.testing.assert_close(ours[:6].cpu(), torch.arange(6.0))
        ours.resize_(2, 3, 4, 4, memory_format=torch.channels_last)
        self.assertTrue(ours.is_contiguous(memory_format=torch.channels_last))

    def test_set(self):
        source, ours = torch.arange(12.0, device=DEVICE), torch.empty(0, device=DEVICE)
        ours.set_(source)
        self.assertEqual(ours.data_ptr(), source.data_ptr())
        ours.set_(source.untyped_storage(), 2, (2, 3), (5, 1))
        self.same(ours, torch.arange(12.0).as_strided((2, 3), (5, 1), 2))
        ours.set_()
        self.assertEqual(ours.numel(), 0)

    def test_storages(self):
        ours = torch.arange(4.0, device=DEVICE)
        storage = ours.untyped_storage()
        self.assertEqual((storage.device, storage.nbytes()), (torch.device(DEVICE), 16))
        torch.testing.assert_close(torch.tensor(storage.cpu().tolist(), dtype=torch.uint8).view(torch.float32), torch.arange(4.0))
        storage.resize_(32)
        self.assertEqual(storage.nbytes(), 32)
        self.same(ours, torch.arange(4.0))

    def test_scalars(self):
        ours = torch.arange(6.0, device=DEVICE)
        self.assertEqual([ours[4].item(), int(ours[3]), bool(ours[0])], [4.0, 3, False])
        self.assertEqual(ours.tolist(), [0, 1, 2, 3, 4, 5])
        self.assertIn("device='anyplace:0'", repr(ours))

    def test_formats(self):
        ours = torch.empty(2, 3, 4, 5, device=DEVICE, memory_format=torch.channels_last)
        self.assertTrue(ours.is_contiguous(memory_format=torch.channels_last))
        host = counted(2, 3, 4, 5)
        self.same(host.to(DEVICE, memory_format=torch.channels_last), host)

    def test_numbers_first(self):
        ours, host = torch.arange(4.0, device=DEVICE), torch.arange(4.0)
        self.same(1 - ours, 1 - host)
        self.same(1.5 * ours.int(), 1.5 * host.int())
        self.same(torch.tensor(2.0) * ours, torch.tensor(2.0) * host)
        self.same(torch.where(ours > 1, 0.0, ours), torch.where(host > 1, 0.0, host))
        self.same(ours[torch.tensor([2, 0])], host[torch.tensor([2, 0])])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "there is no device anyplace:99; there (is|are) anyplace:0"):
            torch.empty(1, device="anyplace:99")
        with self.assertRaises(RuntimeError):
            torch.empty(1, device=DEVICE, pin_memory=True)
        with self.assertRaises(RuntimeError):
            torch.ones(2, device=DEVICE) + torch.ones(2)


if __name__ == "__main__":
    unittest.main()
