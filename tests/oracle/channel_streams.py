"""The named random streams of models/random.hpp: pure functions of seed, name and coordinates."""
import math

MASK = 2**64 - 1
GOLDEN = 0x9e3779b97f4a7c15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


class Stream:
    def __init__(self, seed, name, coordinates):
        self.state = mix((seed + GOLDEN) & MASK)
        for letter in name.encode():
            self.state = mix(self.state ^ ((letter + GOLDEN) & MASK))
        for coordinate in coordinates:
            self.state = (mix((self.state + GOLDEN * (coordinate + 1)) & MASK) + GOLDEN) & MASK

    def next(self):
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def below(self, bound):
        unfair = (2**64 - bound) % bound
        while True:
            value = self.next()
            if value >= unfair:
                return value % bound

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())
