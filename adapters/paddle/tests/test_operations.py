# SPDX-License-Identifier: Apache-2.0
"""What Paddle does on the devices, on each backend there is a double for, and between two of them."""
import os

import pytest

from conftest import ADAPTER

BACKENDS = [("cpu_sim", None), ("cuda", "cuda"), ("hip", "hip"), ("levelzero", "levelzero")]
each_backend = pytest.mark.parametrize("places,double", BACKENDS, ids=[places for places, _ in BACKENDS])


def sample(name):
    with open(os.path.join(ADAPTER, "samples", name), encoding="utf-8") as file:
        return file.read()


@each_backend
def test_streams_and_events(python, places, double):
    done = python(sample("streams.py"), places=places, double=double)
    assert done.status == 0 and "sum 144" in done.output, done.all


@each_backend
def test_a_lenet_trains_to_the_losses_of_the_cpu(python, places, double):
    done = python(sample("train.py"), places=places, double=double)
    assert done.status == 0 and "largest difference" in done.output, done.all
    assert "anyplace: paddle:" not in done.errors, done.errors


@each_backend
def test_tensors_go_between_devices_and_come_back(python, places, double):
    done = python("""
        numbers = numpy.random.RandomState(0).rand(300, 700).astype("float64")
        x = paddle.to_tensor(numbers, place=paddle.CustomPlace("anyplace", 0))
        y = x.to("anyplace:1")
        z = y.cpu().to("anyplace:0")
        print(y.place, z.place, (y.numpy() == numbers).all() and (z.numpy() == numbers).all())
    """, places=places, double=double)
    assert "Place(anyplace:1) Place(anyplace:0) True" in done.output, done.all


def test_tensors_go_between_backends(python):
    done = python("""
        numbers = numpy.arange(1 << 20, dtype="int64")
        right = 0
        for attempt in range(5):
            x = paddle.to_tensor(numbers + attempt, place=paddle.CustomPlace("anyplace", 0))
            for step in (1, 2, 0, 2, 1, 0):
                x = x.to(f"anyplace:{step}")  # what it was before is given up with the copy pending
                assert str(x.place) == f"Place(anyplace:{step})"
            right += (x.numpy() == numbers + attempt).all()
        print("right", right)
    """, places="cuda:1,hip:0,cpu_sim:0", double="cuda,hip")
    assert done.status == 0 and "right 5" in done.output, done.all


def test_types_shapes_and_empty_tensors(python):
    done = python("""
        paddle.set_device("anyplace:0")
        for kind in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"):
            x = paddle.ones([3, 2], dtype="float32").astype(kind)
            assert str(x.place) == "Place(anyplace:0)" and x.cpu().astype("float32").sum() == 6, kind
        empty = paddle.zeros([0, 4])
        assert empty.numpy().shape == (0, 4)
        scalar = paddle.to_tensor(3.5)
        assert float(scalar * 2) == 7.0 and list(scalar.shape) == []
        print("done")
    """)
    assert done.status == 0 and "done" in done.output, done.all


def test_saving_and_loading(python, tmp_path):
    done = python(f"""
        paddle.set_device("anyplace:0")
        first, second = paddle.nn.Linear(5, 3), paddle.nn.Linear(5, 3)
        paddle.save(first.state_dict(), "{tmp_path}/model.pdparams")
        second.set_state_dict(paddle.load("{tmp_path}/model.pdparams"))
        print(second.weight.place, (first.weight.numpy() == second.weight.numpy()).all())
    """)
    assert "Place(anyplace:0) True" in done.output, done.all


def test_static_graphs_and_to_static(python):
    done = python("""
        paddle.set_device("anyplace:0")
        model = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 2))
        x = paddle.rand([5, 4])
        eager = model(x).numpy()
        static = paddle.jit.to_static(model, full_graph=True)
        print("same", numpy.allclose(static(x).numpy(), eager, atol=1e-6))
    """)
    assert done.status == 0 and "same True" in done.output, done.all


def test_the_profiler_runs_as_it_is(python):
    done = python("""
        paddle.set_device("anyplace:0")
        with paddle.profiler.Profiler(on_trace_ready=lambda profiler: None) as profiler:
            x = paddle.ones([4]) * 2
            profiler.step()
        print("profiled", float(x.sum()))
    """)
    assert done.status == 0 and "profiled 8.0" in done.output, done.all


def test_memory_is_counted_and_given_back(python):
    done = python("""
        paddle.set_device("anyplace:0")
        x = paddle.ones([1 << 18])
        there = paddle.device.memory_allocated("anyplace:0")
        most = paddle.device.max_memory_allocated("anyplace:0")
        reserved = paddle.device.memory_reserved("anyplace:0")
        del x
        after = paddle.device.memory_allocated("anyplace:0")
        paddle.device.empty_cache()
        print(there >= 1 << 20, most >= there, reserved >= there, after < there, paddle.device.memory_reserved("anyplace:0") < reserved)
    """)
    assert done.output.strip().endswith("True True True True True"), done.all


def test_threads_use_devices_side_by_side(python):
    done = python("""
        import threading
        results = {}
        def work(number):
            paddle.set_device(f"anyplace:{number % 2}")
            stream = paddle.device.Stream()
            with paddle.device.stream_guard(stream):
                x = paddle.full([1000], float(number))
                for _ in range(50): x = x + 1
            stream.synchronize()
            results[number] = float(x[-1])
        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(results == {n: n + 50.0 for n in range(6)})
    """)
    assert done.status == 0 and "True" in done.output, done.all
