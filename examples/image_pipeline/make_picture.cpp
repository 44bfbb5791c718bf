// SPDX-License-Identifier: Apache-2.0
//
// make_picture: draws photo.png, the picture that the demo blurs: a lake between mountains at sunrise. Every pixel is
// computed here: the land is a heightfield of value noise whose gradient damps the finer octaves (which looks eroded),
// rays are marched over it, the water mirrors them. The same source draws the same picture; nothing is random.
//
//   make_picture photo.png [WIDTH HEIGHT]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "png_io.h"

namespace {

struct Vec {
  double x = 0, y = 0, z = 0;
};
Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec operator*(Vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
Vec operator*(Vec a, Vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec normalize(Vec a) { return a * (1.0 / std::sqrt(dot(a, a))); }
Vec mix(Vec a, Vec b, double t) { return a * (1 - t) + b * t; }
double smoothstep(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

const Vec sun = normalize({-0.42, 0.13, 0.90});
const Vec sun_color{1.0, 0.62, 0.34};
constexpr double far = 9000;
constexpr double water = 0;

/// A number in 0..1 for each point of the integer lattice.
double lattice(std::int64_t x, std::int64_t y) {
  std::uint64_t h =
      static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(y) * 0xC2B2AE3D27D4EB4Fu;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9u;
  h ^= h >> 32;
  h *= 0x94D049BB133111EBu;
  h ^= h >> 29;
  return static_cast<double>(h >> 11) / 9007199254740992.0;
}

/// Value noise with its gradient.
struct Noise {
  double value, dx, dy;
};
Noise noise(double x, double y) {
  const double fx = std::floor(x), fy = std::floor(y);
  const auto ix = static_cast<std::int64_t>(fx), iy = static_cast<std::int64_t>(fy);
  const double u = x - fx, v = y - fy;
  const double su = u * u * u * (u * (u * 6 - 15) + 10), sv = v * v * v * (v * (v * 6 - 15) + 10);
  const double du = 30 * u * u * (u * (u - 2) + 1), dv = 30 * v * v * (v * (v - 2) + 1);
  const double a = lattice(ix, iy), b = lattice(ix + 1, iy), c = lattice(ix, iy + 1), d = lattice(ix + 1, iy + 1);
  const double k1 = b - a, k2 = c - a, k4 = a - b - c + d;
  return {a + k1 * su + k2 * sv + k4 * su * sv, du * (k1 + k4 * sv), dv * (k2 + k4 * su)};
}

double fractal(double x, double y, int octaves) {
  double sum = 0, weight = 0.5;
  for (int i = 0; i < octaves; ++i) {
    sum += weight * noise(x, y).value;
    weight *= 0.5;
    const double turned = 1.6 * x - 1.2 * y;
    y = 1.2 * x + 1.6 * y;
    x = turned;
  }
  return sum;
}

/// Height of the land over the water, in metres.
double land(double x, double z, int octaves) {
  double px = x * 0.00062 + 7.3, pz = z * 0.00062 + 2.9, sum = 0, weight = 1, dx = 0, dz = 0;
  for (int i = 0; i < octaves; ++i) {
    const Noise n = noise(px, pz);
    dx += n.dx;
    dz += n.dy;
    sum += weight * n.value / (1 + dx * dx + dz * dz);
    weight *= 0.5;
    const double turned = 1.6 * px - 1.2 * pz;
    pz = 1.2 * px + 1.6 * pz;
    px = turned;
  }
  // A valley along the view, filled by the lake, and mountains that grow towards the back.
  const double valley = smoothstep(60, 2100, std::abs(x - 380 * std::sin(z * 0.0011) + 60));
  const double rise = smoothstep(600, 7200, z);
  return (sum - 0.36) * (520 + 1250 * rise) * (0.22 + 0.95 * valley) + 330 * valley - 150 + 520 * rise * rise;
}

Vec land_normal(double x, double z, double distance) {
  const double e = std::max(0.6, distance * 0.0011);
  const int octaves = distance < 2500 ? 13 : 11;
  const double h = land(x, z, octaves);
  return normalize({h - land(x + e, z, octaves), e, h - land(x, z + e, octaves)});
}

/// How much of the sun a point sees, 0..1, soft at the edges.
double sunlight(Vec from) {
  double lit = 1;
  for (double t = 8; t < 4200; t *= 1.16) {
    const Vec p = from + sun * t;
    lit = std::min(lit, 14 * (p.y - land(p.x, p.z, 7)) / t);
    if (lit <= 0) return 0;
  }
  return std::clamp(lit, 0.0, 1.0);
}

Vec sky(Vec direction) {
  const double up = std::max(direction.y, 0.0);
  const double toward = std::max(dot(direction, sun), 0.0);
  Vec color = mix({0.80, 0.52, 0.38}, {0.10, 0.20, 0.44}, 1 - std::exp(-6.0 * up));
  color = color + sun_color * (0.42 * std::pow(toward, 7) + 0.40 * std::pow(toward, 60));
  color = color + Vec{1.6, 1.25, 0.9} * smoothstep(0.99955, 0.99985, toward);
  // Two sheets of cloud; light comes through where they are thin.
  for (int sheet = 0; sheet < 2; ++sheet) {
    const double height = sheet == 0 ? 1500 : 2600;
    const double x = direction.x / (up + 0.055) * height, z = direction.z / (up + 0.055) * height;
    const double scale = sheet == 0 ? 0.00036 : 0.00017;
    const double density = fractal(x * scale * 2.2 + 3.1 + sheet * 11, z * scale * 3.1 + 8.7, 9);
    const double cover = smoothstep(0.45, 0.68, density) * smoothstep(0.01, 0.12, up);
    const double glow = std::exp(-3.2 * std::max(density - 0.5, 0.0) * 4);
    const Vec lit =
        mix({0.43, 0.36, 0.45}, Vec{1.05, 0.66, 0.44} * (0.75 + 0.9 * std::pow(toward, 5)), 0.30 + 0.7 * glow);
    color = mix(color, lit, 0.85 * cover);
  }
  return color;
}

Vec haze(Vec color, Vec direction, double distance, double height) {
  const double amount = 1 - std::exp(-distance * (0.00006 + 0.00019 * std::exp(-std::max(height, 0.0) * 0.008)));
  const double toward = std::max(dot(direction, sun), 0.0);
  const Vec air = mix({0.36, 0.42, 0.58}, {1.0, 0.66, 0.42}, 0.25 + 0.75 * std::pow(toward, 4));
  return mix(color, air, std::min(amount, 0.96));
}

Vec shade_land(Vec p, Vec direction, double distance) {
  const Vec n = land_normal(p.x, p.z, distance);
  const double grain = fractal(p.x * 0.11, p.z * 0.11, 5), patch = fractal(p.x * 0.006, p.z * 0.006, 5);
  Vec ground = mix({0.16, 0.13, 0.11}, {0.33, 0.27, 0.23}, grain);
  ground = ground * (0.80 + 0.25 * std::sin(p.y * 0.045 + 26 * patch + 0.004 * p.x));
  const double meadow =
      smoothstep(0.70, 0.90, n.y + 0.22 * (patch - 0.5)) * (1 - smoothstep(210, 430, p.y + 260 * (patch - 0.5)));
  ground = mix(ground, mix({0.075, 0.10, 0.030}, {0.22, 0.19, 0.055}, 0.5 * grain + 0.6 * patch), meadow);
  const double wood = meadow * smoothstep(0.46, 0.56, fractal(p.x * 0.0046 + 40, p.z * 0.0046, 6));
  ground = mix(ground, Vec{0.028, 0.048, 0.028} * (0.6 + 1.0 * grain), 0.9 * wood);
  const double shore = 1 - smoothstep(1.0, 9.0, p.y - water);
  ground = mix(ground, {0.27, 0.23, 0.18}, 0.8 * shore);
  const double snow =
      smoothstep(430, 640, p.y + 330 * (patch - 0.5)) * smoothstep(0.44, 0.66, n.y + 0.25 * (grain - 0.5));
  ground = mix(ground, {0.80, 0.83, 0.90}, snow);
  const double facing = std::clamp(dot(n, sun), 0.0, 1.0);
  const double lit = facing > 0 ? facing * sunlight(p + n * 2.0) : 0;
  const double above = std::clamp(0.5 + 0.5 * n.y, 0.0, 1.0);
  const double bounce = std::clamp(dot(n, normalize({-sun.x, 0, -sun.z})), 0.0, 1.0);
  const Vec light =
      sun_color * (4.6 * lit) + Vec{0.30, 0.39, 0.58} * (1.05 * above) + Vec{0.34, 0.24, 0.18} * (0.6 * bounce);
  return haze(ground * light, direction, distance, p.y);
}

/// The distance at which a ray meets the land, or far.
double march(Vec from, Vec direction, double start) {
  double t = start, before = start;
  for (int i = 0; i < 420 && t < far; ++i) {
    const Vec p = from + direction * t;
    if (p.y > 1900 && direction.y > 0) return far;
    const double over = p.y - land(p.x, p.z, t < 1200 ? 12 : 10);
    if (over < 0.0007 * t) {
      double low = before, high = t;
      for (int k = 0; k < 8; ++k) {
        const double middle = 0.5 * (low + high);
        const Vec q = from + direction * middle;
        (q.y < land(q.x, q.z, 12) ? high : low) = middle;
      }
      return high;
    }
    before = t;
    t += std::max(0.36 * over, 0.0006 * t);
  }
  return far;
}

Vec see(Vec from, Vec direction, bool mirrored);

Vec shade_water(Vec p, Vec direction, double distance) {
  // Ripples, long across the view, calmer far away and in patches.
  const double calm = smoothstep(0.40, 0.62, fractal(p.x * 0.004, p.z * 0.0016 + 5, 4));
  const double strength = (0.006 + 0.030 * calm) / (1 + distance * 0.0011);
  const Noise a = noise(p.x * 0.16, p.z * 0.42), b = noise(p.x * 0.47 + 9, p.z * 1.03),
              c = noise(p.x * 0.050, p.z * 0.12 + 4);
  const Vec n = normalize({strength * (a.dx + 0.7 * b.dx + c.dx), 1, strength * (a.dy + 0.7 * b.dy + c.dy)});
  Vec bounced = direction - n * (2 * dot(direction, n));
  bounced.y = std::max(bounced.y, 0.004);
  bounced = normalize(bounced);
  const double mirror = 0.04 + 0.96 * std::pow(1 - std::clamp(-dot(direction, n), 0.0, 1.0), 5);
  const Vec glitter = sun_color * (2.2 * std::pow(std::max(dot(bounced, sun), 0.0), 900));
  const Vec deep = mix({0.020, 0.050, 0.060}, {0.05, 0.10, 0.09}, smoothstep(-14, 0, land(p.x, p.z, 6)));
  const Vec color = mix(deep, see(p, bounced, true), 0.12 + 0.86 * mirror) + glitter;
  return haze(color, direction, distance * 0.6, 0);
}

Vec see(Vec from, Vec direction, bool mirrored) {
  const double to_land = march(from, direction, mirrored ? 1.0 : 2.0);
  const double to_water = direction.y < 0 ? (water - from.y) / direction.y : far;
  if (!mirrored && to_water < std::min(to_land, far))
    return shade_water(from + direction * to_water, direction, to_water);
  if (to_land < far) return shade_land(from + direction * to_land, direction, to_land);
  const Vec color = sky(direction);
  return mirrored ? color : haze(color, direction, 500 * std::exp(-14 * std::max(direction.y, 0.0)), 0);
}

std::uint8_t develop(double light) {
  light *= 1.02;
  const double film = light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14);
  return static_cast<std::uint8_t>(std::lround(255 * std::pow(std::clamp(film, 0.0, 1.0), 1 / 2.1)));
}

void draw_row(image_pipeline::Picture& picture, std::uint32_t y) {
  constexpr int samples = 2;  // in each direction
  const Vec eye{40, 46, -120}, forward = normalize({-0.17, 0.035, 1});
  const Vec right = normalize({forward.z, 0, -forward.x});
  const Vec up = {forward.y * right.z - forward.z * right.y, forward.z * right.x - forward.x * right.z,
                  forward.x * right.y - forward.y * right.x};
  for (std::uint32_t x = 0; x < picture.width; ++x) {
    Vec sum;
    for (int s = 0; s < samples * samples; ++s) {
      const double sx = x + (s % samples + 0.5) / samples, sy = y + (s / samples + 0.5) / samples;
      const double u = (2 * sx - picture.width) / picture.height, v = 1 - 2 * sy / picture.height;
      const Vec seen = see(eye, normalize(forward * 1.75 + right * u + up * v), false);
      sum = sum + Vec{std::min(seen.x, 3.0), std::min(seen.y, 3.0), std::min(seen.z, 3.0)};
    }
    sum = sum * (1.0 / (samples * samples));
    const double cx = 2.0 * x / picture.width - 1, cy = 2.0 * y / picture.height - 1;
    sum = sum * (1 - 0.16 * (cx * cx + cy * cy));
    std::uint8_t* pixel = picture.row(y) + std::size_t{x} * 3;
    pixel[0] = develop(sum.x);
    pixel[1] = develop(sum.y);
    pixel[2] = develop(sum.z);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 4) {
    std::fputs("usage: make_picture FILE [WIDTH HEIGHT]\n", stderr);
    return 2;
  }
  image_pipeline::Picture picture;
  picture.width = argc == 4 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 1920;
  picture.height = argc == 4 ? static_cast<std::uint32_t>(std::atoi(argv[3])) : 1080;
  picture.channels = 3;
  picture.pixels.resize(picture.row_bytes() * picture.height);
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&picture, worker, workers] {
      for (std::uint32_t y = worker; y < picture.height; y += workers) draw_row(picture, y);
    });
  }
  for (std::thread& thread : threads) thread.join();
  image_pipeline::OutputFile file(argv[1]);
  image_pipeline::write_png(file, picture);
  file.commit();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "make_picture: %s\n", error.what());
  return 1;
}
