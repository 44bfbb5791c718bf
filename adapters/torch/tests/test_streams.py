# SPDX-License-Identifier: Apache-2.0
"""Streams, events, devices and their guards, by torch.anyplace and by torch.accelerator."""
import threading
import unittest

import torch

DEVICE = "anyplace:0"


def need_two_devices(case):
    if torch.anyplace.device_count() < 2:
        case.skipTest("there is one device")


class Streams(unittest.TestCase):
    def test_current(self):
        stream = torch.anyplace.Stream()
        self.assertEqual(torch.anyplace.current_stream(), torch.anyplace.default_stream())
        with torch.anyplace.stream(stream) as entered:
            self.assertEqual(entered, stream)
            self.assertEqual(torch.anyplace.current_stream(), stream)
            self.assertEqual(torch.accelerator.current_stream(), stream)
        self.assertEqual(torch.anyplace.current_stream(), torch.anyplace.default_stream())
        with stream:
            self.assertEqual(torch.anyplace.current_stream(), stream)
        torch.accelerator.set_stream(stream)
        self.assertEqual(torch.anyplace.current_stream(), stream)
        torch.anyplace.set_stream(torch.anyplace.default_stream())

    def test_current_is_of_each_thread(self):
        seen = []
        with torch.anyplace.stream(torch.anyplace.Stream()):
            thread = threading.Thread(target=lambda: seen.append(torch.anyplace.current_stream()))
            thread.start()
            thread.join()
        self.assertEqual(seen, [torch.anyplace.default_stream()])

    def test_types(self):
        stream, event = torch.anyplace.Stream(), torch.anyplace.Event()
        self.assertIsInstance(stream, torch.anyplace.Stream)
        self.assertIsInstance(stream, torch.Stream)
        self.assertIsInstance(event, torch.anyplace.Event)
        self.assertNotIsInstance(event, torch.anyplace.Stream)
        self.assertEqual(stream.device, torch.device(DEVICE))

    def test_pool(self):
        streams = [torch.anyplace.Stream() for _ in range(33)]
        self.assertEqual(len(set(streams[:32])), 32)
        self.assertEqual(streams[32], streams[0])
        least, greatest = torch.anyplace.Stream.priority_range()
        self.assertLessEqual(greatest, least)
        urgent = torch.anyplace.Stream(priority=greatest)
        self.assertTrue(least == greatest or urgent not in streams)

    def test_order_of_copies(self):
        first, second = torch.anyplace.Stream(), torch.anyplace.Stream()
        source = torch.full((1 << 20,), 1.0).pin_memory()
        for _ in range(20):
            with first:
                ours = source.to(DEVICE, non_blocking=True)
            second.wait_stream(first)
            with second:
                copy = ours.clone()
                ours.record_stream(second)
                self.assertEqual(copy.sum().item(), 1 << 20)

    def test_query_and_synchronize(self):
        stream = torch.anyplace.Stream()
        with stream:
            torch.ones(1000, device=DEVICE)
        stream.synchronize()
        self.assertTrue(stream.query())
        torch.anyplace.synchronize()
        torch.accelerator.synchronize()

    def test_memory_of_a_stream_is_not_lent_while_another_uses_it(self):
        side = torch.anyplace.Stream()
        ours = torch.zeros(1 << 20, device=DEVICE)
        results = []
        for value in range(1, 20):
            ours.fill_(value)
            side.wait_stream(torch.anyplace.current_stream())
            with side:
                results.append((value, ours.clone()))
            ours.record_stream(side)
            del ours
            ours = torch.empty(1 << 20, device=DEVICE)  # must not be the memory that `side` still reads
        side.synchronize()  # the sums are another stream's
        for value, copy in results:
            self.assertEqual(copy.sum().item(), value * (1 << 20))

    def test_a_storage_that_grows_on_another_stream(self):
        side = torch.anyplace.Stream()
        for value in range(1, 20):
            ours = torch.full((1 << 20,), float(value), device=DEVICE)
            side.wait_stream(torch.anyplace.current_stream())
            with side:
                ours.resize_(2 << 20)
            torch.full((1 << 20,), -1.0, device=DEVICE)  # must not be the memory that is still being copied
            side.synchronize()
            self.assertEqual(ours[:1 << 20].sum().item(), value * (1 << 20))


class Events(unittest.TestCase):
    def test_time(self):
        start, end = torch.anyplace.Event(enable_timing=True), torch.anyplace.Event(enable_timing=True)
        start.record()
        for _ in range(10):
            torch.ones(1 << 18, device=DEVICE)
        end.record()
        end.synchronize()
        self.assertTrue(end.query())
        self.assertGreater(start.elapsed_time(end), 0)

    def test_time_needs_timing(self):
        start, end = torch.anyplace.Event(), torch.anyplace.Event()
        start.record()
        end.record()
        end.synchronize()
        with self.assertRaisesRegex((RuntimeError, ValueError), "timing"):
            start.elapsed_time(end)

    def test_wait(self):
        first, second, event = torch.anyplace.Stream(), torch.anyplace.Stream(), torch.anyplace.Event()
        for _ in range(20):
            with first:
                ours = torch.full((1 << 18,), 3.0, device=DEVICE)
                event.record()
            second.wait_event(event)
            with second:
                self.assertEqual(ours.sum().item(), 3 * (1 << 18))

    def test_never_recorded_is_complete(self):
        event = torch.anyplace.Event()
        self.assertTrue(event.query())
        event.synchronize()

    def test_recorded_by_the_stream(self):
        stream = torch.anyplace.Stream()
        event = stream.record_event()
        event.synchronize()
        self.assertTrue(event.query())

    def test_of_another_device(self):
        need_two_devices(self)
        event = torch.anyplace.Event()
        event.record(torch.anyplace.Stream(device="anyplace:1"))  # an event is of the device that it is first recorded on
        with self.assertRaises(RuntimeError):
            event.record(torch.anyplace.Stream(device="anyplace:0"))


class Devices(unittest.TestCase):
    def test_there_is_one(self):
        self.assertTrue(torch.anyplace.is_available())
        self.assertEqual(torch.accelerator.current_accelerator(check_available=True), torch.device("anyplace"))
        self.assertEqual(torch.accelerator.device_count(), torch.anyplace.device_count())
        self.assertEqual(len(torch.anyplace.places()), torch.anyplace.device_count())
        self.assertEqual(torch.anyplace.get_device_properties(0)["place"], torch.anyplace.places()[0])
        self.assertTrue(torch.anyplace.get_device_name())

    def test_guards(self):
        need_two_devices(self)
        self.assertEqual(torch.anyplace.current_device(), 0)
        with torch.anyplace.device(1):
            self.assertEqual(torch.anyplace.current_device(), 1)
            self.assertEqual(torch.accelerator.current_device_index(), 1)
            self.assertEqual(torch.empty(1, device="anyplace").device.index, 1)
            with torch.anyplace.device(None), torch.anyplace.device(-1):
                self.assertEqual(torch.anyplace.current_device(), 1)
        self.assertEqual(torch.anyplace.current_device(), 0)
        with torch.anyplace.device_of(torch.empty(1, device="anyplace:1")):
            self.assertEqual(torch.anyplace.current_device(), 1)
        with torch.accelerator.device_index(1):
            self.assertEqual(torch.anyplace.current_device(), 1)
        torch.anyplace.set_device("anyplace:1")
        self.assertEqual(torch.anyplace.current_device(), 1)
        torch.anyplace.set_device(0)

    def test_guard_with_an_error(self):
        need_two_devices(self)
        with self.assertRaises(ZeroDivisionError), torch.anyplace.device(1):
            1 // 0  # noqa: B018
        self.assertEqual(torch.anyplace.current_device(), 0)

    def test_what_is_refused(self):
        for wrong in (99, "anyplace:99"):
            with self.assertRaisesRegex(RuntimeError, "there is no device anyplace:99; there"):
                torch.anyplace.set_device(wrong)
        with self.assertRaises(ValueError):
            torch.anyplace.set_device("cpu")
        with self.assertRaises(TypeError):
            torch.anyplace.set_device(1.5)


if __name__ == "__main__":
    unittest.main()
