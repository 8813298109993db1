// Sums of more numbers than one work-item may add up one after the other; include after common/types.h, with LONG_SUMS defined.
//
// A sum of N equal numbers is off by up to N / 2 roundings where it is kept in one register: 2^20 floats lose three digits.
// So every SUM_BLOCK additions a work-item adds what it has to `whole`, and carries along in `lost` what that rounds off
// (W. Kahan, "Further remarks on reducing truncation errors", CACM 8(1), 1965). The error then is that of a block.

#define SUM_BLOCK 128

DEVICE void add_block(vreal *whole, vreal *lost, vreal block) {
    const vreal next = block - *lost, sum = *whole + next;
    const vreal over = (sum - *whole) - next;
    *lost = PICK(over == over, over, VSPLAT(0));  // infinities lose nothing
    *whole = sum;
}
