#!/usr/bin/env python3
"""The samples' kernels beside PyTorch (cuBLAS and its own kernels) in one process on one GPU: results first, then at least
15 interleaved pairs, medians and the half width of a 95 % interval. Needs torch.

usage: peers.py build/bench/heddle_samples.so [gemm|stream|softmax|launch ...]
"""
import ctypes
import statistics
import sys
import time

import torch


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("rank", ctypes.c_int32), ("bits", ctypes.c_uint64),
                ("extents", ctypes.c_int64 * 5), ("strides", ctypes.c_int64 * 5)]


library = ctypes.CDLL(sys.argv[1])
assert library.heddle_publish_samples() == 0
launch_function = library.heddle_launch
launch_function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                            ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_size_t]
message = ctypes.create_string_buffer(4096)


def view(tensor):
    return Argument(1, tensor.dim(), tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()))


def pointer(tensor):
    return Argument(0, 0, tensor.data_ptr())


def number(value):
    return Argument(2, 0, value)


def prepared(name, schedule, arguments, grid=None):
    """A function that launches; the first call compiles."""
    packed = (Argument * len(arguments))(*arguments)
    sizes = (ctypes.c_int64 * 3)(*grid) if grid else None
    device = f"cuda:{torch.cuda.current_device()}".encode()
    fixed = (name.encode(), device, torch.cuda.current_stream().cuda_stream, schedule.encode(), sizes, packed,
             len(arguments), message, len(message))

    def run():
        if launch_function(*fixed):
            raise RuntimeError(message.value.decode())

    run()
    torch.cuda.synchronize()
    return run


def times(functions, pairs=15, inner=10):
    """Milliseconds of each function, by pair; who is first alternates."""
    for function in functions:
        for _ in range(5):
            function()
    result = [[] for _ in functions]
    for pair in range(pairs):
        order = range(len(functions))
        for i in order if pair % 2 == 0 else reversed(order):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(inner):
                functions[i]()
            end.record()
            end.synchronize()
            result[i].append(start.elapsed_time(end) / inner)
    return result


def compared(ours, peer, pairs=15, inner=10):
    """Medians of both, and of the ratio peer / ours with the half width of its interval."""
    mine, theirs = times([ours, peer], pairs, inner)
    ratios = [t / m for m, t in zip(mine, theirs)]
    half = 1.96 * 1.2533 * statistics.stdev(ratios) / len(ratios) ** 0.5
    middle = statistics.median(ratios)
    return statistics.median(mine), statistics.median(theirs), f"{middle:.3f} ±{100 * half / middle:.1f} %"


def ceil_div(a, b):
    return -(-a // b)


def gemm():
    print("| gemm bf16 | schedule | ours, µs | TFLOP/s | cuBLAS, µs | ratio | same bits |\n|---|---|---|---|---|---|---|")
    for size in (4096, 2048):
        a = torch.randn(size, size, device="cuda").bfloat16()
        stored = torch.randn(size, size, device="cuda").bfloat16()
        for layout, b in (("NN", stored), ("NT", stored.t())):
            expected = torch.matmul(a, b)
            peer_out = torch.empty_like(expected)
            for schedule in ("", "BM=128, BN=128, BK=32, order=grouped{8}, loads={stages=5}",
                             "BM=128, BN=128, BK=64, order=grouped{8}, loads={stages=3}",
                             "BM=128, BN=256, BK=32, order=grouped{8}, warps=uniform{warps=8}",
                             "BM=256, BN=128, BK=64, order=grouped{8}, loads={stages=3}, warps=uniform{warps=8}"):
                out = torch.empty_like(expected)
                ours = prepared("gemm_bf16", schedule, [view(a), view(b), view(out)])
                mine, theirs, ratio = compared(ours, lambda: torch.matmul(a, b, out=peer_out))
                same = torch.equal(out, expected)
                close = (out.float() - expected.float()).abs().max().item() <= 0.01 * expected.abs().max().item()
                print(f"| {size}³ {layout} | {schedule or 'by rule'} | {mine * 1e3:.1f} | {2 * size**3 / mine * 1e-9:.0f} | "
                      f"{theirs * 1e3:.1f} | {ratio} | {'yes' if same else 'no' if close else 'WRONG'} |", flush=True)


def stream():
    print("| f32, 2^28 | GB/s | copy, GB/s | ratio |\n|---|---|---|---|")
    count = 1 << 28
    x, y = torch.randn(count, device="cuda"), torch.randn(count, device="cuda")
    out, copied = torch.empty_like(x), torch.empty_like(x)
    for block in (1024, 4096):
        ours = prepared("vector_add", f"BLOCK={block}", [pointer(x), pointer(y), pointer(out), number(count)],
                        (ceil_div(count, block), 1, 1))
        assert torch.equal(out, x + y)
        mine, theirs, _ = compared(ours, lambda: copied.copy_(x), inner=3)
        ours_rate, copy_rate = 12 * count / mine * 1e-6, 8 * count / theirs * 1e-6
        print(f"| add, BLOCK={block} | {ours_rate:.0f} | {copy_rate:.0f} | {ours_rate / copy_rate:.3f} |", flush=True)


def softmax():
    print("| softmax bf16, 256 MB | schedule | GB/s | copy, GB/s | ratio | torch, GB/s |\n|---|---|---|---|---|---|")
    for columns in (1000, 8192, 32768):
        rows = (128 << 20) // columns
        x = torch.randn(rows, columns, device="cuda").bfloat16()
        out, copied = torch.empty_like(x), torch.empty_like(x)
        expected = torch.softmax(x.float(), 1)
        for extra in ("", "warps=uniform{warps=1}", "warps=uniform{warps=2}", "warps=uniform{warps=4}",
                      "warps=uniform{warps=8}", "warps=uniform{warps=16}", "warps=uniform{warps=8, ctas_per_sm=2}",
                      "warps=uniform{warps=8, ctas_per_sm=3}", "warps=uniform{warps=16, ctas_per_sm=2}"):
            if extra and columns // (32 * int(extra.split("warps=")[2].split("}")[0].split(",")[0])) > 128:
                continue
            schedule = f"COLS={columns}, {extra}" if extra else ""
            try:
                ours = prepared("softmax_bf16", schedule, [view(x), view(out)])
            except RuntimeError as error:
                print(f"| {columns} | {extra} | {str(error)[:80]} |")
                continue
            error = (out.float() - expected).abs().max().item() / expected.max().item()
            assert error < 0.005, error
            mine, theirs, ratio = compared(ours, lambda: copied.copy_(x), inner=3)
            torch_ms = statistics.median(times([lambda: torch.softmax(x, 1)], inner=3)[0])
            rate = 4 * rows * columns * 1e-6
            print(f"| {columns} | {extra or 'by rule'} | {rate / mine:.0f} | {rate / theirs:.0f} | {ratio} | "
                  f"{rate / torch_ms:.0f} |", flush=True)


def launch():
    small = torch.randn(64, 64, device="cuda").bfloat16()
    out = torch.empty_like(small)
    ours = prepared("gemm_bf16", "BM=64, BN=64, BK=32", [view(small), view(small), view(out)])
    samples = []
    for _ in range(15):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            ours()
        samples.append((time.perf_counter() - start) / 200 * 1e6)
    print(f"launch of a cached kernel through ctypes: {statistics.median(samples):.2f} µs")


for name in sys.argv[2:] or ["gemm", "stream", "softmax", "launch"]:
    {"gemm": gemm, "stream": stream, "softmax": softmax, "launch": launch}[name]()
