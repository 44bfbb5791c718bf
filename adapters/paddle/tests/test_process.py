# SPDX-License-Identifier: Apache-2.0
"""A device that is lost, a fork from a data loader, and the end of the process with work pending."""
import pytest

LOSE = {"cuda": ("libcuda.so.1", 700), "hip": ("libamdhip64.so.6", 700)}


@pytest.mark.parametrize("vendor", sorted(LOSE))
def test_a_lost_device_is_an_exception_and_the_process_lives(python, vendor):
    library, code = LOSE[vendor]
    done = python(f"""
        import anyplace_paddle, ctypes
        paddle.set_device("anyplace:0")
        model = paddle.nn.Linear(4, 4)
        x = paddle.ones([2, 4])
        model(x).sum().backward()
        control = ctypes.CDLL("{library}")
        control.anyplace_double_fail_device.restype = ctypes.c_bool
        assert control.anyplace_double_fail_device(0, {code})
        for attempt in range(2):
            try:
                with anyplace_paddle.explained():
                    print(model(x).numpy())
            except OSError as error:
                print("raised", "CustomDevice error" in str(error), "device_lost" in error.__notes__[0])
        paddle.set_device("cpu")
        print("cpu", float(paddle.ones([3]).sum()))
    """, places=vendor, double=vendor)
    assert done.status == 0 and done.output.count("raised True True") == 2 and "cpu 3.0" in done.output, done.all
    assert "device_lost" in done.errors, done.all


@pytest.mark.parametrize("vendor", sorted(LOSE))
def test_other_devices_go_on_after_one_is_lost(python, vendor):
    library, code = LOSE[vendor]
    done = python(f"""
        import ctypes
        paddle.set_device("anyplace:0")
        x = paddle.ones([2, 4])
        ctypes.CDLL("{library}").anyplace_double_fail_device(0, {code})
        try: x.numpy()
        except OSError as error: print("raised")
        del x
        paddle.set_device("anyplace:1")
        print("other device", float((paddle.ones([3]) * 2).sum()))
        paddle.set_device("cpu")
        print("cpu", float(paddle.ones([3]).sum()))
    """, places=vendor, double=vendor)
    assert done.status == 0 and "raised\nother device 6.0\ncpu 3.0" in done.output, done.all


def test_an_event_that_is_polled_on_a_lost_device_lets_go(python):
    done = python("""
        import ctypes
        paddle.set_device("anyplace:0")
        x = paddle.ones([2, 4])
        control = ctypes.CDLL("libcuda.so.1")
        stream, event = paddle.device.Stream(), paddle.device.Event()
        event.record(stream)
        control.anyplace_double_fail_device(0, 700)
        while not event.query(): pass
        try: stream.synchronize()
        except OSError as error: print("raised", "CustomDevice error" in str(error))
    """, places="cuda", double="cuda")
    assert done.status == 0 and "raised True" in done.output, done.all


def test_a_data_loader_forks_beside_a_device_in_use(python):
    done = python("""
        paddle.set_device("anyplace:0")
        model = paddle.nn.Linear(3, 1)
        paddle.ones([4, 3]).sum().numpy()
        class Rows(paddle.io.Dataset):
            def __len__(self): return 24
            def __getitem__(self, i): return numpy.full(3, i, dtype="float32")
        loader = paddle.io.DataLoader(Rows(), batch_size=4, num_workers=2, shuffle=False)
        total = 0.0
        for epoch in range(2):
            for batch in loader:
                rows = batch[0] if isinstance(batch, (list, tuple)) else batch
                total += float(rows.sum())
                model(rows.to("anyplace:0")).mean().backward()
        print("total", total)
    """)
    assert done.status == 0 and "total 1656.0" in done.output, done.all
    assert "anyplace: paddle:" not in done.errors, done.errors


def test_the_child_of_a_fork_is_told_and_its_parent_goes_on(python):
    done = python("""
        import os, anyplace_paddle
        paddle.set_device("anyplace:0")
        x = paddle.ones([4])
        child = os.fork()
        if child == 0:
            try:
                with anyplace_paddle.explained(): x.numpy()
                os._exit(1)
            except OSError as error:
                os._exit(0 if "forked" in error.__notes__[0] else 2)
        print("child", os.waitpid(child, 0)[1], "parent", float(x.sum()))
    """)
    assert done.status == 0 and "child 0 parent 4.0" in done.output, done.all
    assert "forked" in done.errors, done.all


def test_the_process_ends_with_work_pending(python):
    done = python("""
        paddle.set_device("anyplace:0")
        x = paddle.ones([1 << 22])
        streams = [paddle.device.Stream() for _ in range(4)]
        events = [stream.record_event() for stream in streams]
        for i in range(4): streams[i].wait_event(events[(i + 1) % 4])
        y = x.to("anyplace:1", blocking=False)
        print("end")
    """)
    assert done.status == 0 and "end" in done.output, done.all
    assert "Segmentation" not in done.all and "terminate" not in done.all, done.all


@pytest.mark.parametrize("vendor", sorted(LOSE))
def test_the_process_ends_with_a_device_that_does_nothing_any_more(python, vendor):
    library, _ = LOSE[vendor]
    done = python(f"""
        import ctypes
        paddle.set_device("anyplace:0")
        x = paddle.ones([1 << 10])
        control = ctypes.CDLL("{library}")
        assert control.anyplace_double_hold(0, 1)
        stream = paddle.device.Stream()
        event = stream.record_event()
        print("pending", not event.query())
    """, places=vendor, double=vendor)
    assert done.status == 0, done.all


def test_objects_that_outlive_the_main_program_are_destroyed_quietly(python):
    done = python("""
        import sys
        paddle.set_device("anyplace:0")
        sys.kept = [paddle.ones([100]), paddle.device.Stream(), paddle.device.Event(), paddle.nn.Linear(2, 2)]
    """)
    assert done.status == 0 and "anyplace: paddle:" not in done.errors, done.all
