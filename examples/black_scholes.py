"""European options by Black and Scholes over a grid of prices, strikes and maturities.

    python examples/black_scholes.py --backend wgpu --dtype float32

Three short vectors broadcast to one million options; elementwise functions do the rest.
"""

import math

import common
import numpy

RATE = 0.02
VOLATILITY = 0.3
CDF_ERROR = 7.5e-8  # of `normal_cdf`, absolute


def normal_cdf(xp, x):
    """The normal distribution function, absolute error below 7.5e-8.

    Abramowitz and Stegun, formula 26.2.17: the tail beyond |x| is the density times a polynomial
    in t = 1 / (1 + 0.2316419 |x|). The array API standard has no erf.
    """
    t = 1 / (1 + 0.2316419 * xp.abs(x))
    polynomial = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)) * polynomial
    return xp.where(x >= 0, 1 - tail, tail)


def black_scholes(xp, price, strike, maturity):
    """The values of the call and of the put."""
    deviation = VOLATILITY * xp.sqrt(maturity)
    d1 = (xp.log(price / strike) + (RATE + 0.5 * VOLATILITY**2) * maturity) / deviation
    d2 = d1 - deviation
    discounted = strike * xp.exp(-RATE * maturity)
    call = price * normal_cdf(xp, d1) - discounted * normal_cdf(xp, d2)
    put = call - price + discounted
    return call, put


def exact(price, strike, maturity):
    """The same with the error function of the C library in float64, one option at a time."""
    deviation = VOLATILITY * math.sqrt(maturity)
    d1 = (math.log(price / strike) + (RATE + 0.5 * VOLATILITY**2) * maturity) / deviation
    d2 = d1 - deviation
    discounted = strike * math.exp(-RATE * maturity)
    call = price * 0.5 * math.erfc(-d1 / math.sqrt(2)) - discounted * 0.5 * math.erfc(-d2 / math.sqrt(2))
    return call, call - price + discounted


def grid(xp, n, dtype):
    """`n` prices, strikes and maturities, shaped so that they broadcast to every combination."""
    price = xp.linspace(50.0, 150.0, n, dtype=dtype)[:, None, None]
    strike = xp.linspace(60.0, 140.0, n, dtype=dtype)[None, :, None]
    maturity = xp.linspace(0.1, 3.0, n, dtype=dtype)[None, None, :]
    return price, strike, maturity


def main():
    run = common.start(common.parser(__doc__, size=100, unit="points on each axis; options are its cube"))
    xp, n = run.xp, run.size

    axes = grid(xp, n, run.dtype)
    call, put = run.time("call and put", lambda: black_scholes(xp, *axes))
    run.note("options", n**3)
    run.note("million options/s", 1e-6 * n**3 / run.seconds)

    run.check_dtype("call", call)
    run.check_dtype("put", put)
    # Errors are relative to price + strike, the sizes of the terms that are subtracted. d1 is off by
    # some rounding errors, magnified by 1 / deviation <= 11; both terms have slopes below 0.4.
    call, put = run.asnumpy(call), run.asnumpy(put)
    price, strike, maturity = (run.asnumpy(x).astype("float64") for x in axes)
    reference = black_scholes(numpy, price, strike, maturity)
    scale = price + strike
    for label, ours, numpys in (("call", call, reference[0]), ("put", put, reference[1])):
        run.check(f"{label}: unlike NumPy's", numpy.max(numpy.abs(ours - numpys) / scale), 16 * run.eps)

    stride = max(1, n // 10)
    some = [axis[tuple(slice(None, None, stride) for _ in range(3))] for axis in (price, strike, maturity)]
    true = numpy.vectorize(exact)(*some)
    for label, ours, truth in (("call", call, true[0]), ("put", put, true[1])):
        error = numpy.abs(ours[::stride, ::stride, ::stride] - truth) / (some[0] + some[1])
        run.check(f"{label}: true error", numpy.max(error), CDF_ERROR + 16 * run.eps)
    run.finish()


if __name__ == "__main__":
    main()
