// The pixels of an invocation of conv_up's kernels, the cells of x that they read, and
// the products of a row of them. The kernel declares params.

const SCALE: u32 = 1;
const BIASES: u32 = 5; // of pixels, and of the four cells

// Spot is PIXELS pixels of one parity in a row of y, every other one.
struct Spot {
    phase: u32,  // of time and parity
    block: u32,  // among all
    r: u32,      // row of y
    s0: u32,     // the first column of this parity
    pixel: u32,  // the first pixel, counted among those of the parity
    end: u32,    // number of these pixels in the row
    row: i32,    // the first row of cells to read
    column: i32, // and the first column
}

fn spot(segment: u32, block: u32) -> Spot {
    let phase = block / params.blocks;
    let row_parity = i32(phase / 2u % 2u);
    let column_parity = i32(phase % 2u);
    let s0 = u32((column_parity - params.left) & 1);
    let per_row = ((params.W + 1u) / 2u + PIXELS - 1u) / PIXELS;
    let r = 2u * (segment / per_row) + u32((row_parity - params.top) & 1);
    let pixel = (segment % per_row) * PIXELS;
    return Spot(
        phase, block, r, s0, pixel, (params.W - s0 + 1u) / 2u,
        ((params.top + i32(r)) >> 1u) - 1 + row_parity,
        ((params.left + i32(s0)) >> 1u) - 1 + column_parity + i32(pixel),
    );
}

// add_cells adds the biases of the cells inside of x.
fn add_cells(sums: ptr<function, Sums>, under: ptr<function, Columns>, to: Spot) {
    let at = (BIASES * to.block + 1u) * WIDE;
#loop i 4
    let row = to.row + i32({i} / 2u);
    let here = row >= 0 && row < i32(params.H_in);
    let b0 = bias[at + {i} * WIDE];
    let b1 = bias[at + {i} * WIDE + 1u];
#loop p PIXELS
    let inside = (*under).inside[{p} + {i} % 2u] && here;
    (*sums)[{p} * WIDE] += select(vec4<f32>(), b0, inside);
    (*sums)[{p} * WIDE + 1u] += select(vec4<f32>(), b1, inside);
#end
#end
}

// place returns the offset of pixel number `pixel` in the row that starts at `line`.
fn place(line: u32, pixel: u32, o: u32) -> u32 {
    return line + 2u * pixel * params.C_out4 + o;
}
