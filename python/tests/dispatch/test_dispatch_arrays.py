"""Arrays go in from any library and come out to any, without a copy, and what is none is refused."""

import copy
import gc
import json
import pickle
import struct
import zipfile

import pytest

from dispatch_cases import needed
from rankscope import dispatch
from rankscope.dispatch._arrays import _unpickled

ROWS = [[1, -1, 0], [0, 1, -1]]


def destinations(array):
    return dispatch.compute_metadata([[3, 4, 5], [6, 7, 8]], array)[0].dst_rank


@pytest.fixture
def array():
    return destinations(ROWS)


def test_an_array_says_what_it_is(array):
    assert (array.shape, array.ndim, array.dtype, len(array)) == ((2, 3), 2, "int64", 2)
    assert repr(array) == "Array([[1, -1, 0], [0, 1, -1]], dtype='int64')"
    assert array == ROWS
    assert array == destinations(array)
    assert array != [[1]]


def test_rows_are_picked_as_from_a_list(array):
    assert array[0].tolist() == ROWS[0]
    assert array[-1][1:].tolist() == [1, -1]
    assert array[::-1].tolist() == ROWS[::-1]
    assert array[5:].tolist() == []
    assert array[1][0] == 0
    assert [list(row) for row in array] == ROWS
    with pytest.raises(IndexError, match="row 2 of 2"):
        array[2]


def test_bytes_are_the_values(array):
    assert struct.unpack("<6q", array.tobytes()) == (1, -1, 0, 0, 1, -1)


@pytest.mark.parametrize("carried", [copy.copy, copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array))])
def test_an_array_travels_between_processes(carried, array):
    for one in (array, array[:0], array[1], dispatch.plan([5, 8], ranks=2).rank(0).cu_seqlens_q):
        other = carried(one)
        assert (other.shape, other.dtype, other.tobytes()) == (one.shape, one.dtype, one.tobytes())


def test_what_has_arrays_travels_too(array):
    forward, reverse = dispatch.compute_metadata([[3, 4, 5], [6, 7, 8]], ROWS)
    rows = dispatch.plan([5, 8], ranks=2).rank(1)
    for one in (forward, reverse, forward.normalize_dtype(), rows):
        assert pickle.loads(pickle.dumps(one)).to_dict() == one.to_dict()


@pytest.mark.parametrize("wrong", [("int64", [2], bytes(8)), ("int64", [1 << 62, 1 << 62], b""), ("int8", [1], b"1")])
def test_a_pickle_that_is_no_array_is_refused(wrong):
    with pytest.raises(dispatch.CaseError, match="no array"):
        _unpickled(*wrong)


def test_numpy_takes_an_array_without_a_copy(array):
    np = needed("numpy")
    view = np.asarray(array)
    assert view.dtype == np.int64
    assert view.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    view[0, 0] = 7
    assert array[0][0] == 7
    assert np.from_dlpack(array).tolist() == array.tolist()


def test_a_copy_is_one_where_it_is_asked_for(array):
    np = needed("numpy")
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        pytest.skip("numpy asks for copies from 2.1 on")
    address = array.__array_interface__["data"][0]
    assert np.from_dlpack(array).__array_interface__["data"][0] == address
    copy = np.from_dlpack(array, copy=True)
    assert copy.__array_interface__["data"][0] != address
    assert copy.tolist() == ROWS


def test_torch_takes_an_array_without_a_copy(array):
    torch = needed("torch")
    tensor = torch.from_dlpack(array)
    assert tensor.dtype == torch.int64
    assert tensor.data_ptr() == array.__array_interface__["data"][0]
    tensor[0, 0] = 7
    assert array[0][0] == 7


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_values_outlive_the_array_they_came_from(library):
    module = needed(library)
    taken = module.from_dlpack(destinations(ROWS))
    gc.collect()
    assert taken.tolist() == ROWS


def test_a_capsule_that_nobody_takes_is_freed(array):
    for _ in range(1000):
        array.__dlpack__()
    assert array == ROWS
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="memory of the CPU"):
        array.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_of_any_width_are_read(dtype):
    np = needed("numpy")
    assert destinations(np.array(ROWS, dtype=dtype)).tolist() == ROWS


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "bool"])
def test_integers_without_a_sign_are_read(dtype):
    np = needed("numpy")
    given = np.array([[1, 0, 0], [0, 1, 1]], dtype=dtype)
    assert destinations(given).tolist() == [[1, 0, 0], [0, 1, 1]]


def test_rows_that_do_not_lie_back_to_back_are_read():
    np = needed("numpy")
    wide = np.array(ROWS).repeat(2, axis=1)
    assert destinations(wide[:, ::2]).tolist() == ROWS
    assert destinations(np.asfortranarray(ROWS)).tolist() == ROWS
    assert destinations(np.array(ROWS)[::-1]).tolist() == ROWS[::-1]


def test_arrays_that_must_not_be_written_are_read():
    np = needed("numpy")
    given = np.array(ROWS)
    given.flags.writeable = False
    assert destinations(given).tolist() == ROWS


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_floats_are_refused(library):
    module = needed(library)
    with pytest.raises(dispatch.CaseError, match="the input `dispatch`: an entry is no whole number of 64 bits"):
        destinations(module.ones((2, 3)))


def test_values_beyond_63_bits_are_refused():
    np = needed("numpy")
    with pytest.raises(dispatch.CaseError, match="no whole number of 64 bits"):
        destinations(np.full((2, 3), 1 << 63, dtype=np.uint64))


def test_tensors_elsewhere_are_refused():
    torch = needed("torch")
    with pytest.raises((dispatch.CaseError, NotImplementedError, BufferError, RuntimeError, ValueError)):
        destinations(torch.empty((2, 3), dtype=torch.int64, device="meta"))

    class OnTheGpu:
        device = "cuda:0"

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self):
            raise AssertionError("nobody asks a GPU for its memory")

    with pytest.raises(dispatch.CaseError, match="the input `dispatch`: it is on cuda:0; give its copy on the CPU"):
        destinations(OnTheGpu())


def test_lists_in_a_circle_are_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(dispatch.CaseError):
        destinations(circle)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_answers_are_of_the_library_of_the_inputs(library):
    module = needed(library)
    kind = {"numpy": "ndarray", "torch": "Tensor"}[library]
    forward, reverse = dispatch.compute_metadata(
        module.ones((2, 3), dtype=module.int64), module.ones((2, 3, 2), dtype=module.int64)
    )
    assert {type(value).__name__ for value in (forward.dst_rank, reverse.num_seqs, reverse.recv_seq_lens)} == {kind}
    assert str(reverse.seq_recv_mask.dtype).endswith("bool")
    assert type(dispatch.gen_seq_lens(2, 3, 64, like=library)).__name__ == kind


def test_a_library_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="like='jax'"):
        dispatch.gen_seq_lens(2, 3, 64, like="jax")


def test_rows_of_a_rank_are_written_for_numpy(tmp_path):
    rows = dispatch.plan([500, 300], ranks=2).rank(1)
    path = rows.save(tmp_path / "rank1.npz")
    assert rows.save(tmp_path / "again.npz").read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        head = archive.read("cu_seqlens_q.npy")
    assert head.startswith(b"\x93NUMPY\x01\x00")
    assert (10 + int.from_bytes(head[8:10], "little")) % 64 == 0
    np = needed("numpy")
    read = np.load(path)
    assert read["q_send_rows"].tolist() == rows.q_send_rows.tolist()
    assert read["cu_seqlens_k"].dtype == np.int32
    assert read["kv_receive_counts"].tolist() == rows.kv_receive_counts
    assert int(read["max_seqlen_k"]) == rows.max_seqlen_k


def test_rows_of_a_rank_are_written_as_safetensors(tmp_path):
    rows = dispatch.plan([500, 300], ranks=2).rank(1)
    data = rows.save(tmp_path / "rank1.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0
    assert header["__metadata__"]["plan_hash"] == rows.plan_hash
    for name, array in rows.arrays().items():
        start, end = header[name]["data_offsets"]
        assert data[8 + length + start : 8 + length + end] == array.tobytes(), name
        assert header[name]["shape"] == list(array.shape)


def test_safetensors_reads_what_is_written(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    rows = dispatch.plan([500, 300], ranks=2).rank(0)
    read = numpy.load_file(rows.save(tmp_path / "rank0.safetensors"))
    assert {name: array.tolist() for name, array in read.items() if array.ndim} == {
        name: array.tolist() for name, array in rows.arrays().items()
    }


def test_rows_of_a_rank_are_shown(tmp_path):
    rows = dispatch.plan([500, 300], ranks=2).rank(0)
    assert "kv_receive_rows" in rows._repr_html_()
    assert rows.to_dict()["q_send_counts"] == rows.q_send_counts
