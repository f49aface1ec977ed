"""Machine constants: numbers that were chosen for the time a fit takes.

The iterates do not depend on them, but for the order in which sums are rounded and the working sets
of `polish`.

Every one was found by `python -m benchmarks.tune`, which sweeps it on a few fits and prints the
seconds; run it on another machine before you change a value. Modules read them as
``tuning.NAME`` when they need them, so a test or a sweep can set one in one place. Those that
compiled loops use are frozen when the loop is compiled.
"""

from __future__ import annotations

MEBIBYTE = 1 << 20

# --- threads and slices ---

#: Multiplications that a thread should have before it is worth waking.
WORK_OF_A_THREAD = 1e7
#: How many of these a multiplication with factors from memory counts as.
MEMORY_WORK = 16.0
#: Seconds that one slice of a loop should take, so that Ctrl-C and deadlines are noticed.
SLICE_SECONDS = 0.02
#: Draws of the first slice, and the fewest and the most of any later one.
FIRST_SLICE, FEWEST_DRAWS, MOST_DRAWS = 1024, 32, 1 << 20

# --- kernel values ---

#: Features of a panel that are gone through at a time, so that they stay in a processor's cache and
#: a sum is a short one of short ones: an eighth of this was as fast, and rounds an eighth as much.
PANEL_DEPTH = 128
#: Bytes of kernel values that are finished while they are in a processor's second cache. With a
#: quarter of them threads wait for the interpreter between two pieces, where features are few.
HOT_BYTES = 1 << 20
#: Bytes of a tile that is mapped at a time where a map makes several passes.
MAP_BYTES = 1 << 19
#: Rows of features that are looked at in one go, where all have to be.
FEATURE_ROWS = 1024

# --- kernel rows ---

#: Bytes of kernel rows that are taken at once; more only once computing rows again has cost more.
FRESH_BYTES = 768 * MEBIBYTE
#: MiB that few rows may take, if a small tile of them does not take more.
FEW_ROWS_MB = 16
#: Kernel rows computed together at the most, and the fewest that a source must have room for.
TILE_ROWS, FEWEST_ROWS = 256, 16
#: A tile is filled up to this many rows with doubtful ones, since few rows cost as much as one.
SMALL_TILE_ROWS = 32
#: Examples of pairs of classes that are trained in compiled code together, and of all their
#: classes, whose Gram matrix is computed for it.
SMALL_PAIR, SMALL_PAIRS_GRAM = 1000, 8000
#: Up to this many examples ``cache="auto"`` computes the whole Gram matrix at once.
GRAM_SAMPLES = 2000
#: The same where `polish` follows, for two classes: it needs the rows of the support alone.
POLISHED_GRAM_SAMPLES = 1000
#: Beyond so many examples kernel rows of float64 data are float32 where a gap is asked for, which
#: costs margins in float64, pair by pair: fewer examples do not win that back.
FLOAT32_SAMPLES = 2000
#: The same where no gap is asked for, and no margin is computed again.
PLAIN_FLOAT32_SAMPLES = 1000
#: Draws that a loop over kernel rows is run over together; data of less than eight such tiles go
#: through their draws one by one.
TILE_DRAWS = 128
#: Kernel values that an average draw adds to margins, above which draws go by tiles: the values of
#: a tile's draws among each other then cost less than is gained by adding violators together.
TILED_ABOVE_ADDITIONS = 3000

# --- feature rows ---

#: Bytes of feature rows that are gathered at a time when margins are computed.
GATHER_BYTES = 1 << 24
#: How many draws ahead rows are prefetched, and the most entries of a row that are.
PREFETCH_DRAWS, PREFETCH_ENTRIES = 8, 512

# --- dual ascent ---

#: Columns of a factor of the kernel matrix at the most, for systems of that size to be solved.
MOST_COLUMNS = 1024
#: Work of a system, passes times examples, up to which single steps are not tried first.
SMALL_SYSTEM = 3e4

#: Margins that stay in a processor's first cache while many rows are added to them.
MARGINS_TILE = 2048
#: Examples of a working set at the most, and of one of a small problem: a set costs the square.
WORKING_SET, SMALL_WORKING_SET = 256, 64
#: Between these a working set has one of so many examples.
EXAMPLES_OF_A_MEMBER = 32
#: Working sets between two evaluations of the gap.
WORKING_SETS_OF_A_ROUND = 8
#: From so many examples on dual ascent begins with blocks of violators; a block has one example of
#: so many, up to a limit: larger ones move fewer coefficients twice, but their own matrix costs the
#: square.
BLOCKS_FROM, EXAMPLES_OF_A_BLOCK, BLOCK = 1 << 15, 12, 4096
#: Kernel values of the violators' rows at which working sets take over, which keep rows.
VALUES_AFTER_BLOCKS = 1 << 29
#: Rows that working sets ask for at a time: a product with fewer reads all examples for little.
ROWS_AT_ONCE = 128
