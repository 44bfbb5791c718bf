# SPDX-License-Identifier: Apache-2.0
"""Random numbers: a seed gives the CPU's, generators have states of their own, and nothing draws from the CPU's generator."""
import unittest

import torch
from torch.nn import functional

DEVICE = "anyplace:0"


class Seeds(unittest.TestCase):
    def test_same_as_on_the_cpu(self):
        draws = {
            "randn": lambda d: torch.randn(5, device=d),
            "rand": lambda d: torch.rand(5, device=d),
            "randint": lambda d: torch.randint(100, (5,), device=d),
            "randperm": lambda d: torch.randperm(20, device=d),
            "bernoulli": lambda d: torch.full((20,), 0.5, device=d).bernoulli(),
            "normal_": lambda d: torch.empty(5, device=d).normal_(2, 3),
            "multinomial": lambda d: torch.ones(20, device=d).multinomial(5),
            "dropout": lambda d: functional.dropout(torch.ones(100, device=d), 0.5),
            "poisson": lambda d: torch.poisson(torch.full((10,), 4.0, device=d)),
        }
        for name, draw in draws.items():
            with self.subTest(name):
                torch.manual_seed(7)
                here = draw("cpu")
                torch.manual_seed(7)
                torch.testing.assert_close(draw(DEVICE).cpu(), here)

    def test_the_cpus_generator_is_left_alone(self):
        torch.manual_seed(7)
        expected = torch.rand(4)
        torch.manual_seed(7)
        torch.randn(100, device=DEVICE)
        functional.dropout(torch.ones(100, device=DEVICE), 0.5)
        torch.testing.assert_close(torch.rand(4), expected)

    def test_states(self):
        torch.anyplace.manual_seed(3)
        self.assertEqual(torch.anyplace.initial_seed(), 3)
        state = torch.anyplace.get_rng_state()
        first = torch.rand(5, device=DEVICE)
        torch.anyplace.set_rng_state(state)
        torch.testing.assert_close(torch.rand(5, device=DEVICE).cpu(), first.cpu())
        states = torch.anyplace.get_rng_state_all()
        self.assertEqual(len(states), torch.anyplace.device_count())
        torch.anyplace.set_rng_state_all(states)
        self.assertNotEqual(torch.anyplace.seed(), torch.anyplace.seed())
        with torch.random.fork_rng(devices=[0], device_type="anyplace"):
            torch.anyplace.manual_seed(99)
        self.assertNotEqual(torch.anyplace.initial_seed(), 99)

    def test_devices_have_their_own(self):
        if torch.anyplace.device_count() < 2:
            self.skipTest("there is one device")
        torch.anyplace.manual_seed_all(11)
        first = torch.rand(4, device="anyplace:0")
        torch.testing.assert_close(torch.rand(4, device="anyplace:1").cpu(), first.cpu())

    def test_generators(self):
        generator = torch.Generator(device=DEVICE).manual_seed(5)
        first = torch.randn(4, device=DEVICE, generator=generator)
        clone = generator.clone_state()
        second = torch.randn(4, device=DEVICE, generator=generator)
        torch.testing.assert_close(torch.randn(4, device=DEVICE, generator=clone).cpu(), second.cpu())
        generator.manual_seed(5)
        torch.testing.assert_close(torch.randn(4, device=DEVICE, generator=generator).cpu(), first.cpu())
        with self.assertRaises(RuntimeError):
            torch.randn(4, generator=generator)  # the CPU has its own


if __name__ == "__main__":
    unittest.main()
