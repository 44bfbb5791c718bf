# SPDX-License-Identifier: Apache-2.0
"""What is wrong is said, as an exception of torch's with anyplace's text, and the process lives. Each case is a process of its own.

A device is lost with the help of a double of a vendor's library, which says with DOUBLE (its file name) that it is there."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DOUBLE = os.environ.get("DOUBLE")


def run(code, **environment):
    """(exit status, output of both kinds)"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout


class Places(unittest.TestCase):
    USE = "import torch\ntry:\n  torch.ones(1, device='anyplace')\nexcept RuntimeError as e:\n  print('said:', e)\nprint('lives')"

    def said(self, places):
        status, out = run(self.USE, ANYPLACE_TORCH_PLACES=places)
        self.assertEqual(status, 0, out)
        self.assertIn("lives", out)
        self.assertIn("said:", out)
        return out

    def test_a_device_that_isn_t_there(self):
        out = self.said("cpu_sim:7")
        self.assertIn("ANYPLACE_TORCH_PLACES=cpu_sim:7", out)
        self.assertIn("there is no device cpu_sim:7", out)
        self.assertIn("cpu_sim:0, cpu_sim:1", out)

    def test_a_backend_that_isn_t_there(self):
        self.assertIn("no_such_backend", self.said("nosuch:0"))

    def test_no_place(self):
        self.assertIn("cpu_sim:0:0", self.said("cpu_sim:0:0"))

    def test_none_named(self):
        self.assertIn("names no place", self.said(" , "))

    def test_one_named_twice(self):
        self.assertIn("cpu_sim:0 is named twice", self.said("cpu_sim:0,cpu_sim"))

    def test_is_available_tells_why(self):
        status, out = run("import torch\nprint(torch.anyplace.is_available(), torch.anyplace.device_count())\n"
                          "print(torch.accelerator.is_available())", ANYPLACE_TORCH_PLACES="cpu_sim:7")
        self.assertEqual(status, 0, out)
        self.assertIn("False 0\n", out)
        self.assertIn("there is no device cpu_sim:7", out)

    def test_order_and_choice(self):
        status, out = run("import torch\nprint(torch.anyplace.places())", ANYPLACE_TORCH_PLACES="cpu_sim:1, cpu_sim:0")
        self.assertEqual((status, out.strip()), (0, "['cpu_sim:1', 'cpu_sim:0']"))

    def test_an_index_that_isn_t_there(self):
        status, out = run("import torch\ntorch.ones(1, device='anyplace:9')")
        self.assertEqual(status, 1)
        self.assertIn("there is no device anyplace:9; there", out)
        self.assertIn("anyplace:0 (", out)


class Versions(unittest.TestCase):
    def import_built_for(self, version, without_autoload):
        import torch_anyplace

        source = os.path.dirname(os.path.abspath(torch_anyplace.__file__))
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "torch_anyplace")
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("csrc", "__pycache__"))
            os.remove(os.path.join(copy, "_build.py"))
            with open(os.path.join(copy, "_build.py"), "w") as file:
                file.write(f'TORCH = "{version}"\n')
            path = folder + os.pathsep + os.environ.get("PYTHONPATH", "")
            code = "import torch_anyplace" if without_autoload else "import torch\nprint('torch works', torch.ones(1))"
            return run(code, PYTHONPATH=path, TORCH_DEVICE_BACKEND_AUTOLOAD="0" if without_autoload else "1")

    def test_another_torch_is_refused(self):
        status, out = self.import_built_for("2.3.1", True)
        self.assertEqual(status, 1)
        self.assertIn("ImportError: torch_anyplace was built for torch 2.3.1, and this is torch", out)
        self.assertIn("known are torch 2.15", out)

    def test_torch_itself_stays_usable(self):
        status, out = self.import_built_for("2.3.1", False)
        self.assertEqual(status, 0, out)
        self.assertIn("torch works", out)
        self.assertIn("the device type anyplace isn't available: torch_anyplace was built for torch 2.3.1", out)

    def test_sources_know_their_versions(self):
        from torch_anyplace import _versions

        self.assertIsNone(_versions.problem_of_source("2.15.1+cpu"))
        self.assertIn("knows torch 2.15, and this is torch 2.4.0", _versions.problem_of_source("2.4.0"))

    def test_a_device_type_that_is_taken(self):
        status, out = run("import torch\ntorch.utils.rename_privateuse1_backend('other')\nimport torch_anyplace",
                          TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertEqual(status, 1)
        self.assertIn("in this process that is 'other' already", out)


class Memory(unittest.TestCase):
    def test_running_out(self):
        code = ("import torch\nheld = []\ntry:\n  while True:\n    held.append(torch.empty(16 << 20, device='anyplace'))\n"
                "except torch.OutOfMemoryError as e:\n  print('said:', e)\n"
                "del held[:]\nprint(torch.ones(3, device='anyplace').sum().item())")
        status, out = run(code, ANYPLACE_TORCH_PLACES="cpu_sim", ANYPLACE_CPU_SIM_MEMORY="256MiB")
        self.assertEqual(status, 0, out)
        for part in ("out_of_memory", "requested", "in use", "free"):
            self.assertIn(part, out.split("said:")[1])
        self.assertTrue(out.endswith("3.0\n"), out)


class Loss(unittest.TestCase):
    @unittest.skipUnless(DOUBLE, "a device is lost with a double's help, and there is none")
    def test_under_a_running_model(self):
        code = f"""
import ctypes, torch
from torch import nn
double = ctypes.CDLL({DOUBLE!r})
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)).to('anyplace:0')
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    if step == 3:
        assert double.anyplace_double_fail_device(0, 700)
    try:
        optimizer.zero_grad()
        model(torch.ones(2, 4, device='anyplace:0')).sum().backward()
        optimizer.step()
        print('step', step)
    except RuntimeError as error:
        print('said:', error)
print(torch.ones(3, device='anyplace:1').sum().item(), torch.anyplace.memory_allocated(0) > 0)
"""
        status, out = run(code)
        self.assertEqual(status, 0, out)
        self.assertIn("step 2", out)
        self.assertNotIn("step 3", out)
        self.assertEqual(out.count("said:"), 3, out)
        self.assertEqual(out.count("device_lost"), 3, out)
        self.assertIn("3.0 True", out)


class Ends(unittest.TestCase):
    def test_fork(self):
        code = ("import os, sys, torch\ntorch.ones(1, device='anyplace')\npid = os.fork()\n"
                "if pid == 0:\n"
                "  try:\n    torch.ones(1, device='anyplace')\n  except RuntimeError as e:\n    print('said:', e)\n"
                "  print('the CPU works', torch.ones(1).sum().item(), torch.anyplace.is_available())\n"
                "  sys.stdout.flush()\n  os._exit(0)\n"
                "os.waitpid(pid, 0)\nprint('parent', torch.ones(2, device='anyplace').sum().item())")
        status, out = run(code)
        self.assertEqual(status, 0, out)
        self.assertIn("'spawn'", out.split("said:")[1])
        self.assertIn("the CPU works 1.0 False", out)
        self.assertIn("parent 2.0", out)

    def test_fork_of_a_loader_whose_workers_use_the_device(self):
        code = """
import torch
from torch.utils.data import DataLoader, Dataset
class OnDevice(Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return torch.ones(1, device='anyplace')
torch.ones(1, device='anyplace')
try:
    list(DataLoader(OnDevice(), num_workers=1, multiprocessing_context='fork'))
except RuntimeError as error:
    print('said:', error)
print('lives', torch.ones(2, device='anyplace').sum().item())
"""
        status, out = run(code)
        self.assertEqual(status, 0, out)
        self.assertIn("can't be used in a forked process", out.split("said:")[1])
        self.assertIn("lives 2.0", out)

    def test_with_work_pending(self):
        code = ("import torch\nsource = torch.ones(1 << 22).pin_memory()\nstream = torch.anyplace.Stream()\n"
                "with stream:\n  kept = [source.to('anyplace', non_blocking=True) for _ in range(20)]\nprint('done')")
        status, out = run(code)
        self.assertEqual((status, out), (0, "done\n"))

    def test_with_threads_that_go_on(self):
        code = ("import threading, time, torch\ndef work():\n  until = time.monotonic() + 0.5\n"
                "  while time.monotonic() < until:\n    torch.ones(100, device='anyplace') + 1\n"
                "for _ in range(3):\n  threading.Thread(target=work).start()\nprint('done')")
        status, out = run(code)
        self.assertEqual((status, out), (0, "done\n"))


if __name__ == "__main__":
    unittest.main()
