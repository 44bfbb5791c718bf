# SPDX-License-Identifier: Apache-2.0
"""What crosses files, processes and copies of objects: saving, pickling, data loaders."""
import copy
import io
import pickle
import unittest

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = "anyplace:0"


def saved(thing, **options):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, **options)


class Saving(unittest.TestCase):
    def test_comes_back_to_its_device(self):
        ours = torch.arange(6.0, device=DEVICE).reshape(2, 3)
        back = saved(ours)
        self.assertEqual(back.device, ours.device)
        torch.testing.assert_close(back.cpu(), ours.cpu())

    def test_map_location(self):
        ours = torch.arange(6.0, device=DEVICE)
        self.assertEqual(saved(ours, map_location="cpu").device.type, "cpu")
        self.assertEqual(saved(torch.arange(6.0), map_location=DEVICE).device, torch.device(DEVICE))
        if torch.anyplace.device_count() > 1:
            self.assertEqual(saved(ours, map_location="anyplace:1").device, torch.device("anyplace:1"))
        with self.assertRaisesRegex(RuntimeError, "anyplace"):
            saved(ours, map_location="anyplace:99")

    def test_views_share_after_it(self):
        ours = torch.arange(6.0, device=DEVICE)
        whole, part = saved([ours, ours[2:4]])
        whole[2] = 50
        self.assertEqual(part[0].item(), 50)

    def test_models_and_optimizers(self):
        model = nn.Linear(3, 2).to(DEVICE)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 3, device=DEVICE)).sum().backward()
        optimizer.step()
        states = saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, weights_only=True)
        there = nn.Linear(3, 2).to(DEVICE)
        there.load_state_dict(states["model"])
        other = torch.optim.Adam(there.parameters())
        other.load_state_dict(states["optimizer"])
        torch.testing.assert_close(there.weight.cpu(), model.weight.cpu())
        on_cpu = nn.Linear(3, 2)
        on_cpu.load_state_dict(states["model"])
        torch.testing.assert_close(on_cpu.weight, model.weight.cpu())

    def test_pickle_and_deepcopy(self):
        ours = torch.randn(3, device=DEVICE, requires_grad=True)
        for other in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
            self.assertEqual(other.device, ours.device)
            self.assertTrue(other.requires_grad)
            self.assertNotEqual(other.data_ptr(), ours.data_ptr())
            torch.testing.assert_close(other.cpu(), ours.cpu())

    def test_numpy_goes_by_the_cpu(self):
        self.assertEqual(torch.ones(2, device=DEVICE).cpu().numpy().tolist(), [1, 1])
        with self.assertRaises(TypeError):
            torch.ones(2, device=DEVICE).numpy()

    def test_methods_of_the_name(self):
        self.assertTrue(torch.ones(1).anyplace().is_anyplace)
        self.assertEqual(nn.Linear(1, 1).anyplace(0).weight.device, torch.device(DEVICE))
        self.assertTrue(torch.ones(1).anyplace().untyped_storage().is_anyplace)


class Loading(unittest.TestCase):
    def test_workers_are_forked_beside_a_device_in_use(self):
        numbers = torch.arange(64.0)
        torch.ones(4, device=DEVICE).sum().item()  # the device is in use before the fork
        total = torch.zeros((), device=DEVICE)
        loader = DataLoader(TensorDataset(numbers), batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context="fork")
        for (batch,) in loader:
            self.assertTrue(batch.is_pinned())
            total += batch.to(DEVICE, non_blocking=True).sum()
        self.assertEqual(total.item(), numbers.sum().item())


if __name__ == "__main__":
    unittest.main()
