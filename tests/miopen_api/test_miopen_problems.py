"""Find 2.0: solutions of problems against NumPy, saved and loaded ones too."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import D, F, close, convolve, every_backend, gradient

import portadnn as dnn
from portadnn import miopen

FORWARD, BACKWARD, WEIGHTS, INFERENCE = (
    miopen.miopenProblemDirectionForward,
    miopen.miopenProblemDirectionBackward,
    miopen.miopenProblemDirectionBackwardWeights,
    miopen.miopenProblemDirectionInference,
)
Argument = miopen.miopenTensorArgument_t


def named(name):
    return getattr(miopen, f"miopen{name}")


def stated(problem, **descs):
    for name, desc in descs.items():
        miopen.miopenSetProblemTensorDescriptor(problem, named(f"Tensor{name}"), desc)
    return problem


def given(**memory):
    return [
        Argument(named(name if name.startswith("Scalar") else f"Tensor{name}"), None, m) for name, m in memory.items()
    ]


def solutions(env, problem, most=9, options=None):
    found, count = miopen.miopenFindSolutions(env.h, problem, options, most)
    assert len(found) == count <= most
    return found


def run(env, solution, arguments):
    size = miopen.miopenGetSolutionWorkspaceSize(solution)
    miopen.miopenRunSolution(env.h, solution, len(arguments), arguments, *env.bytes(size))


def reloaded(solution):
    """Save and load a solution."""
    data = miopen.miopenSaveSolution(solution)
    assert isinstance(data, bytes) and len(data) == miopen.miopenGetSolutionSize(solution)
    again = miopen.miopenLoadSolution(data, len(data))
    assert miopen.miopenSaveSolution(again) == data
    for ask in (miopen.miopenGetSolutionTime, miopen.miopenGetSolutionSolverId, miopen.miopenGetSolutionWorkspaceSize):
        assert ask(again) == ask(solution)
    return again


class Convolution:
    """A convolution's problem and its data; the gradients by central differences of a sum."""

    def __init__(self, env, direction, transposed=False):
        self.env = env
        x, w = env.random(2, 2, 4, 5), env.random(3, 2, 3, 3)
        y = convolve(x, w, (1, 1))
        desc = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(desc, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
        self.host = {"ConvolutionX": x, "ConvolutionW": w, "ConvolutionY": y.astype(np.float32)}
        output = {FORWARD: "ConvolutionY", BACKWARD: "ConvolutionX", WEIGHTS: "ConvolutionW"}[direction]
        if direction == FORWARD:
            self.want = y
        else:
            change = self.host["ConvolutionY"] = env.random(*y.shape)
            wide = [change.astype(float)]
            self.want = (
                gradient(lambda at: [convolve(at, w, (1, 1))], x, wide)
                if direction == BACKWARD
                else gradient(lambda at: [convolve(x, at, (1, 1))], w, wide)
            )
        self.output = output
        self.problem = miopen.miopenCreateConvProblem(desc, direction)
        stated(self.problem, **{name: env.desc(*a.shape) for name, a in self.host.items()})

    def check(self, solution):
        memory = {name: self.env.dev(host) for name, host in self.host.items()}
        memory[self.output] = self.env.dev(np.full(self.host[self.output].shape, np.nan, np.float32))
        run(self.env, solution, given(**memory))
        close(self.env.host(memory[self.output]), self.want, rtol=1e-3, atol=1e-4)


@every_backend()
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD, WEIGHTS], ids=["forward", "data", "weights"])
def test_convolutions(env, direction):
    case = Convolution(env, direction)
    options = miopen.miopenCreateFindOptions()
    if direction != FORWARD:  # fewer kernels to compile
        miopen.miopenSetFindOptionWorkspaceLimit(options, 0)
    found = solutions(env, case.problem, options=options)
    assert found
    times = [miopen.miopenGetSolutionTime(one) for one in found]
    assert times == sorted(times) and min(times) > 0
    for one in found:
        case.check(reloaded(one))
        number = miopen.miopenGetSolutionSolverId(one)
        name = miopen.miopenGetSolverName(number, 80)
        assert miopen.miopenGetSolverIdByName(name) == number
        assert isinstance(miopen.miopenGetSolverIdConvAlgorithm(number), miopen.miopenConvAlgorithm_t)
    case.check(found[0])
    assert len({miopen.miopenGetSolutionSolverId(one) for one in found}) == len(found)


@every_backend()
def test_options(env):
    case = Convolution(env, FORWARD)
    options = miopen.miopenCreateFindOptions()
    miopen.miopenSetFindOptionTuning(options, 1)
    miopen.miopenSetFindOptionAttachBinaries(options, 1)
    miopen.miopenSetFindOptionResultsOrder(options, miopen.miopenFindResultsOrderByWorkspaceSize)
    everything = solutions(env, case.problem, options=options)
    sizes = [miopen.miopenGetSolutionWorkspaceSize(one) for one in everything]
    assert sizes == sorted(sizes)
    miopen.miopenSetFindOptionPreallocatedWorkspace(options, *env.bytes(1 << 16))
    y = env.dev(np.full(case.host["ConvolutionY"].shape, np.nan, np.float32))
    for name, host in case.host.items():
        memory = y if name == "ConvolutionY" else env.dev(host)
        miopen.miopenSetFindOptionPreallocatedTensor(options, named(f"Tensor{name}"), memory)
    assert solutions(env, case.problem, options=options)
    close(env.host(y), case.want, rtol=1e-3, atol=1e-4)  # Find ran on these tensors
    miopen.miopenSetFindOptionWorkspaceLimit(options, 0)
    for one in solutions(env, case.problem, options=options):
        assert miopen.miopenGetSolutionWorkspaceSize(one) == 0
    assert len(solutions(env, case.problem, most=1)) == 1
    assert miopen.miopenFindSolutions(env.h, case.problem, None, 0) == ((), 0)
    miopen.miopenDestroyFindOptions(options)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenFindSolutions(env.h, case.problem, options, 1)


@every_backend()
def test_softmax_and_its_gradient(env):
    x, change = env.random(2, 5, 3, 2), env.random(2, 5, 3, 2)
    desc = miopen.miopenCreateSoftmaxDescriptor()
    miopen.miopenSetSoftmaxDescriptor(desc, 2.0, 0.0, miopen.MIOPEN_SOFTMAX_LOG, miopen.MIOPEN_SOFTMAX_MODE_CHANNEL)
    assert miopen.miopenGetSoftmaxDescriptor(desc)[:2] == (2.0, 0.0)
    forward, backward = (miopen.miopenCreateSoftmaxProblem(desc, d) for d in (FORWARD, BACKWARD))
    layout = env.desc(*x.shape)
    stated(forward, SoftmaxX=layout, SoftmaxY=layout)
    stated(backward, SoftmaxY=layout, SoftmaxDY=layout, SoftmaxDX=layout)

    def log_softmax(at):
        return at - np.log(np.exp(at).sum(1, keepdims=True))

    y, dx = env.out(*x.shape)[1], env.out(*x.shape)[1]
    for solution in (one := solutions(env, forward)[0], reloaded(one)):
        run(env, solution, given(SoftmaxX=env.dev(x), SoftmaxY=y))
        close(env.host(y), 2 * log_softmax(x.astype(float)), atol=1e-5)
    plain = env.dev(log_softmax(x.astype(float)).astype(np.float32))
    run(env, solutions(env, backward)[0], given(SoftmaxY=plain, SoftmaxDY=env.dev(change), SoftmaxDX=dx))
    close(env.host(dx), 2 * gradient(lambda at: [log_softmax(at)], x, [change.astype(float)]), rtol=1e-3, atol=1e-4)


def activation_problem(direction, alpha=0.25):
    desc = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(desc, miopen.miopenActivationLEAKYRELU, alpha, 0, 0)
    return miopen.miopenCreateActivationProblem(desc, direction)


@every_backend()
def test_convolution_bias_and_activation_are_fused(env):
    x, w, bias = env.random(2, 2, 4, 5), env.random(3, 2, 3, 3), env.random(1, 3, 1, 1)
    desc = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(desc, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
    first = miopen.miopenCreateConvProblem(desc, FORWARD)
    stated(first, ConvolutionX=env.desc(*x.shape), ConvolutionW=env.desc(*w.shape))
    second = stated(miopen.miopenCreateBiasProblem(FORWARD), Bias=env.desc(*bias.shape))
    miopen.miopenFuseProblems(first, second)
    miopen.miopenFuseProblems(first, activation_problem(FORWARD))
    want = convolve(x, w, (1, 1)) + bias
    want = np.where(want > 0, want, 0.25 * want)
    for solution in (one := solutions(env, first)[0], reloaded(one)):
        _, y = env.out(*want.shape)
        memory = {"ConvolutionX": x, "ConvolutionW": w, "Bias": bias}
        run(env, solution, given(**{n: env.dev(a) for n, a in memory.items()}, ActivationY=y))
        close(env.host(y), want, atol=1e-5)
    with pytest.raises(dnn.BadParam, match="not fused"):
        stated(first, Bias=env.desc(1, 3, 1, 1))
    assert miopen.miopenGetSolverName(miopen.miopenGetSolutionSolverId(one), 80) == "fusion_plan"


@every_backend()
def test_normalisation_and_activation_are_fused(env):
    shape, small, epsilon = (3, 2, 2, 3), (1, 2, 1, 1), 1e-3
    x, scale, bias, change = env.random(*shape), env.random(*small), env.random(*small), env.random(*shape)
    mean, variance = env.random(*small), np.abs(env.random(*small)) + 0.5
    layout, tiny = env.desc(*shape), env.desc(*small)

    def fused(direction):
        norm = miopen.miopenCreateBatchnormProblem(miopen.miopenBNSpatial, False, direction)
        act = activation_problem(BACKWARD if direction == BACKWARD else FORWARD)
        if direction == BACKWARD:
            stated(norm, BatchnormX=layout, BatchnormDY=layout)
        else:
            stated(norm, BatchnormX=layout)
            if direction == INFERENCE:
                stated(norm, BatchnormEstimatedMean=tiny)
        miopen.miopenFuseProblems(norm, act)
        return solutions(env, norm)[0]

    def leaky(z):
        return np.where(z > 0, z, 0.25 * z)

    def output(x, scale, bias):
        x = np.asarray(x, float)
        z = (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + epsilon)
        return leaky(scale * z + bias)

    names = {"BatchnormScale": scale, "BatchnormBias": bias}
    memory = {n: env.dev(a) for n, a in names.items()}
    _, y = env.out(*shape)
    statistics = {"BatchnormEstimatedMean": env.dev(mean), "BatchnormEstimatedVariance": env.dev(variance)}
    numbers = {"ScalarBatchnormEpsilon": epsilon}
    run(
        env,
        fused(INFERENCE),
        given(BatchnormX=env.dev(x), ActivationY=y, **memory, **statistics, **numbers),
    )
    close(env.host(y), leaky(scale * (x - mean) / np.sqrt(variance + epsilon) + bias), atol=1e-5)
    saved = {"BatchnormSavedMean": env.out(*small)[1], "BatchnormSavedVariance": env.out(*small)[1]}
    numbers["ScalarBatchnormExpAvgFactor"] = np.float64(0.1)
    run(
        env,
        fused(FORWARD),
        given(BatchnormX=env.dev(x), ActivationY=y, **memory, **saved, **numbers),
    )
    close(env.host(y), output(x, scale, bias), atol=1e-5)
    dx, ds, db = env.out(*shape)[1], env.out(*small)[1], env.out(*small)[1]
    results = {"BatchnormScaleDiff": ds, "BatchnormBiasDiff": db, "ActivationDX": dx}
    run(
        env,
        fused(BACKWARD),
        given(BatchnormX=env.dev(x), BatchnormDY=env.dev(change), ActivationY=y, **memory, **saved, **results),
    )
    wide = [a.astype(float) for a in (x, scale, bias)]
    for i, found in enumerate((dx, ds, db)):

        def varied(value, i=i):
            return [output(*wide[:i], value, *wide[i + 1 :])]

        close(env.host(found), gradient(varied, wide[i], [change.astype(float)]), rtol=1e-3, atol=1e-4)


def attention(q, k, v, scale, bias, causal):
    """Return O, M, 1 / Z and P."""
    s = scale * q @ k.swapaxes(2, 3) + bias
    if causal:
        s = np.where(np.tri(*s.shape[2:]), s, -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - m)
    z = 1 / e.sum(-1, keepdims=True)
    return e * z @ v, m, z, e * z


@every_backend()
@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradients(env, causal):
    n, heads, steps, size, scale = 2, 2, 5, 4, 0.5
    q, k, v, change = (env.random(n, heads, steps, size) for _ in range(4))
    bias = env.random(n, heads, steps, steps)
    names = ["DescaleK", "DescaleQ", "DescaleV", "DescaleS", "ScaleS", "ScaleO", "DescaleO", "DescaleDO", "DescaleDS"]
    numbers = dict.fromkeys([*names, "ScaleDS", "ScaleDQ", "ScaleDK", "ScaleDV"], 1.0)
    numbers |= {"DescaleQ": 0.5, "DescaleK": 2.0, "ScaleS": 4.0, "DescaleS": 0.25, "ScaleO": 3.0, "ScaleDQ": 5.0}
    one = env.desc(1, 1, 1, 1)
    whole, rows, square = env.desc(*q.shape), env.desc(n, heads, steps, 1), env.desc(*bias.shape)
    desc = miopen.miopenCreateMhaDescriptor()
    miopen.miopenSetMhaDescriptor(desc, scale)
    assert miopen.miopenGetMhaDescriptor(desc) == scale
    forward, backward = (miopen.miopenCreateMhaProblem(desc, d) for d in (FORWARD, BACKWARD))
    scalars = {f"Mha{name}": one for name in (*numbers, "DropoutProbability", "DropoutSeed", "DropoutOffset")}
    big = {f"Mha{name}": whole for name in ("Q", "K", "V", "O")} | {"MhaM": rows, "MhaZInv": rows}
    stated(forward, **scalars, **big, MhaBias=square, MhaAmaxO=one, MhaAmaxS=one)
    grads = {f"Mha{name}": whole for name in ("DO", "DQ", "DK", "DV")}
    stated(backward, **scalars, **big, **grads, **{f"MhaAmax{name}": one for name in ("DQ", "DK", "DV", "DS")})

    def single(value):
        return env.dev(np.full((1, 1, 1, 1), value, np.float32))

    inputs = {f"Mha{name}": single(value) for name, value in numbers.items()}
    inputs |= {f"MhaDropout{name}": single(0) for name in ("Probability", "Seed", "Offset")}
    inputs |= {"MhaQ": env.dev(q), "MhaK": env.dev(k), "MhaV": env.dev(v)}
    outputs = {"MhaO": env.out(*q.shape)[1], "MhaM": env.out(n, heads, steps, 1)[1]}
    outputs |= {"MhaZInv": env.out(n, heads, steps, 1)[1], "MhaAmaxO": single(np.nan), "MhaAmaxS": single(np.nan)}
    extra = {"MhaBias": env.dev(bias), "MhaMask": int(causal)}
    solution = solutions(env, forward)[0]
    for found in (solution, reloaded(solution)):
        run(env, found, given(**inputs, **outputs, **extra))
        o, m, z, p = attention(*(a.astype(float) for a in (q, k, v)), scale, bias, causal)
        close(env.host(outputs["MhaO"]), 3 * o, atol=1e-5)
        close(env.host(outputs["MhaM"]), m, atol=1e-5)
        close(env.host(outputs["MhaZInv"]), z, rtol=1e-4)
        close(env.host(outputs["MhaAmaxO"]).ravel(), [np.abs(o).max()], rtol=1e-4)
        close(env.host(outputs["MhaAmaxS"]).ravel(), [p.max()], rtol=1e-4)
    if causal:
        return  # MIOpen's gradients know neither mask nor bias
    wide = [a.astype(float) for a in (q, k, v)]
    o, m, z, _ = attention(*wide, scale, 0.0, False)
    saved = {"MhaO": o, "MhaM": m, "MhaZInv": z, "MhaDO": change}
    results = {f"Mha{name}": env.out(*q.shape)[1] for name in ("DQ", "DK", "DV")}
    largest = {f"MhaAmax{name}": single(np.nan) for name in ("DQ", "DK", "DV", "DS")}
    memory = {name: env.dev(a.astype(np.float32)) for name, a in saved.items()}
    run(env, solutions(env, backward)[0], given(**inputs, **memory, **results, **largest))
    for i, name in enumerate(("DQ", "DK", "DV")):

        def varied(value, i=i):
            return [attention(*wide[:i], value, *wide[i + 1 :], scale, 0.0, False)[0]]

        # of the descaled operand, which is the stored one times its descale
        want = gradient(varied, wide[i], [change.astype(float)]) / numbers[f"Descale{name[1]}"]
        factor = 5.0 if name == "DQ" else 1.0
        close(env.host(results[f"Mha{name}"]), factor * want, rtol=1e-3, atol=1e-4)
        close(env.host(largest[f"MhaAmax{name}"]).ravel(), [np.abs(want).max()], rtol=1e-3)


@every_backend()
def test_attention_with_dropout(env):
    """v and dO are unit vectors: O and dV show the mask, which both directions draw alike."""
    n, heads, steps, share = 2, 3, 8, 0.25
    names = ["DescaleK", "DescaleQ", "DescaleV", "DescaleS", "ScaleS", "ScaleO", "DescaleO", "DescaleDO", "DescaleDS"]
    numbers = [*names, "ScaleDS", "ScaleDQ", "ScaleDK", "ScaleDV", "DropoutProbability"]
    one, whole, rows = env.desc(1, 1, 1, 1), env.desc(n, heads, steps, steps), env.desc(n, heads, steps, 1)
    long = env.desc(1, 1, 1, 1, dtype=miopen.miopenInt64)
    desc = miopen.miopenCreateMhaDescriptor()
    miopen.miopenSetMhaDescriptor(desc, 0.5)
    forward, backward = (miopen.miopenCreateMhaProblem(desc, d) for d in (FORWARD, BACKWARD))
    descs = {f"Mha{name}": one for name in numbers} | {"MhaDropoutSeed": long, "MhaDropoutOffset": long}
    descs |= {f"Mha{name}": whole for name in ("Q", "K", "V", "O")} | {"MhaM": rows, "MhaZInv": rows}
    stated(forward, **descs, MhaAmaxO=one, MhaAmaxS=one)
    largest = {f"MhaAmax{name}": one for name in ("DQ", "DK", "DV", "DS")}
    stated(backward, **descs, **{f"Mha{name}": whole for name in ("DO", "DQ", "DK", "DV")}, **largest)
    q, k = env.random(n, heads, steps, steps), env.random(n, heads, steps, steps)
    unit = np.broadcast_to(np.eye(steps, dtype=np.float32), q.shape)

    def single(value, dtype=np.float32):
        return env.dev(np.full((1, 1, 1, 1), value, dtype))

    inputs = {f"Mha{name}": single(1) for name in numbers} | {"MhaQ": env.dev(q), "MhaK": env.dev(k)}
    inputs |= {"MhaV": env.dev(unit), "MhaDropoutProbability": single(share)}
    _, m, z, p = attention(q.astype(float), k.astype(float), unit, 0.5, 0.0, False)
    seen = []
    for seed in (3, 4):
        inputs |= {"MhaDropoutSeed": single(seed, np.int64), "MhaDropoutOffset": single(0, np.int64)}
        outputs = {name: env.out(*rows_)[1] for name, rows_ in (("MhaO", q.shape), ("MhaM", (n, heads, steps, 1)))}
        outputs |= {"MhaZInv": env.out(n, heads, steps, 1)[1], "MhaAmaxO": single(np.nan), "MhaAmaxS": single(np.nan)}
        run(env, solutions(env, forward)[0], given(**inputs, **outputs))
        o = env.host(outputs["MhaO"])
        mask = o != 0
        close(o, np.where(mask, p / (1 - share), 0), rtol=1e-4)
        close(env.host(outputs["MhaAmaxS"]).ravel(), [p.max()], rtol=1e-4)
        assert abs(mask.mean() - (1 - share)) < 4 * np.sqrt(share * (1 - share) / mask.size)
        seen.append(mask)
        saved = {"MhaO": o, "MhaM": m.astype(np.float32), "MhaZInv": z.astype(np.float32), "MhaDO": unit}
        results = {f"Mha{name}": env.out(*q.shape)[1] for name in ("DQ", "DK", "DV")}
        amax = {name: single(np.nan) for name in largest}
        memory = {name: env.dev(a) for name, a in saved.items()}
        run(env, solutions(env, backward)[0], given(**inputs, **memory, **results, **amax))
        close(env.host(results["MhaDV"]), o.swapaxes(2, 3), rtol=1e-4)
        # MIOpen's kernels: (dO v^T - sum of dO O) * (1 - share), times the masked shares
        change = 0.5 * (1 - share) * (unit - np.einsum("nhij,nhij->nhi", unit, o)[..., None]) * o
        close(env.host(results["MhaDQ"]), change @ k, rtol=1e-3, atol=1e-5)
        close(env.host(results["MhaDK"]), change.swapaxes(2, 3) @ q, rtol=1e-3, atol=1e-5)
    assert (seen[0] != seen[1]).any()
    inputs["MhaDropoutProbability"] = single(1)
    with pytest.raises(dnn.BadParam, match="below 1"):
        run(env, solutions(env, forward)[0], given(**inputs, **outputs))


@every_backend()
def test_what_attention_refuses(env):
    desc = miopen.miopenCreateMhaDescriptor()
    with pytest.raises(dnn.BadParam, match="only created"):
        miopen.miopenCreateMhaProblem(desc, FORWARD)
    miopen.miopenSetMhaDescriptor(desc, 1.0)
    with pytest.raises(dnn.BadParam, match=r"Forward or .*Backward, got .*Inference"):
        miopen.miopenCreateMhaProblem(desc, INFERENCE)
    problem = miopen.miopenCreateMhaProblem(desc, FORWARD)
    with pytest.raises(dnn.BadParam, match="miopenTensorMhaK to be stated") as caught:
        miopen.miopenFindSolutions(env.h, problem, None, 1)
    assert caught.value.status is miopen.miopenStatusInvalidValue  # src/problem.cpp, GetTensorDescriptorChecked
    stated(problem, MhaK=env.desc(1, 1, 2, 2))
    with pytest.raises(dnn.BadParam, match="not stated yet") as caught:
        stated(problem, MhaK=env.desc(1, 1, 2, 2))
    assert caught.value.status is miopen.miopenStatusBadParm  # find2_0_commons.cpp


def test_what_is_refused(env):
    alone = stated(activation_problem(FORWARD), ActivationX=env.desc(1, 2, 3, 4), ActivationY=env.desc(1, 2, 3, 4))
    with pytest.raises(dnn.NotSupported, match="miopenFuseProblems") as caught:
        miopen.miopenFindSolutions(env.h, alone, None, 1)
    assert caught.value.status is miopen.miopenStatusNotImplemented
    case = Convolution(env, FORWARD)
    one = solutions(env, case.problem)[0]
    memory = {name: env.dev(host) for name, host in case.host.items()}
    with pytest.raises(dnn.BadParam, match="miopenTensorConvolutionW, got none") as caught:
        run(env, one, given(ConvolutionX=memory["ConvolutionX"]) + given(ConvolutionY=memory["ConvolutionY"]))
    assert caught.value.status is miopen.miopenStatusInvalidValue
    with pytest.raises(dnn.BadParam, match="nInputs"):
        miopen.miopenRunSolution(env.h, one, 4, given(**memory), None, 0)
    with pytest.raises(dnn.BadParam, match="id"):
        stated(case.problem, ArgumentIdInvalid=env.desc(1, 1, 1, 1))
    mixed = stated(miopen.miopenCreateBiasProblem(FORWARD), BiasX=env.desc(1, 2, 3, 4, dtype=D))
    with pytest.raises(dnn.BadParam, match="softmax"):
        desc = miopen.miopenCreateSoftmaxDescriptor()
        miopen.miopenSetSoftmaxDescriptor(desc, 1, 0, 0, 0)
        miopen.miopenFuseProblems(mixed, miopen.miopenCreateSoftmaxProblem(desc, FORWARD))
    order = stated(activation_problem(FORWARD), ActivationX=env.desc(1, 2, 3, 4))
    miopen.miopenFuseProblems(order, stated(miopen.miopenCreateBiasProblem(FORWARD), Bias=env.desc(1, 2, 1, 1)))
    with pytest.raises(dnn.NotSupported) as caught:
        miopen.miopenFindSolutions(env.h, order, None, 1)
    assert caught.value.status is miopen.miopenStatusUnsupportedOp
    miopen.miopenDestroySolution(one)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenGetSolutionTime(one)
    miopen.miopenDestroyProblem(case.problem)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        miopen.miopenFindSolutions(env.h, case.problem, None, 1)


@pytest.mark.parametrize(
    "data", [b"", b"nothing", b"[1, 2]", b'{"portadnn": 99}', b'{"portadnn": 1, "solver": 1}', "text", None]
)
def test_damaged_solutions(data):
    with pytest.raises(dnn.BadParam, match=r"data|size"):
        miopen.miopenLoadSolution(data, 0 if data is None else len(data))


def test_solvers_and_flags():
    with pytest.raises(dnn.BadParam) as caught:
        miopen.miopenGetSolverIdConvAlgorithm(301)
    assert caught.value.status is miopen.miopenStatusInvalidValue
    assert miopen.miopenGetSolverName(301, 16) == "softmax_forward"
    with pytest.raises(dnn.BadParam, match="nameBufLen"):
        miopen.miopenGetSolverName(301, 15)  # no room for the final zero
    with pytest.raises(dnn.BadParam, match="solverId"):
        miopen.miopenGetSolverName(9999, 80)
    assert miopen.miopenGetSolverIdByName("ConvNobodyKnows") == 0
    flag = miopen.miopenDebugLoggingQuiet
    assert miopen.miopenGetDebugFlag(flag) is False
    miopen.miopenSetDebugFlag(flag, True)
    assert miopen.miopenGetDebugFlag(flag) is True
    miopen.miopenSetDebugFlag(flag, False)
    with pytest.raises(dnn.BadParam):
        miopen.miopenGetDebugFlag(7)
    assert F == 1
