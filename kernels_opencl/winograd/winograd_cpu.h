// Winograd's one-dimensional transforms on CPUs, for OUT outputs of three taps (OUT 2 or 4) from SIDE = OUT + 2 inputs: of
// vectors that hold one place of VW tiles, channels or filters each. Lavin and Gray, "Fast algorithms for convolutional
// neural networks", CVPR 2016. Include after conv/cpu.h.

#define PLANES (SIDE * SIDE)
#define R(x) ((real)(x))

#if OUT == 2
DEVICE void transform_input(vreal *d) {
    const vreal d1 = d[1], d2 = d[2];
    d[0] -= d2;
    d[1] = d1 + d2;
    d[2] = d2 - d1;
    d[3] = d1 - d[3];
}

DEVICE void transform_filter(vreal *u, vreal g0, vreal g1, vreal g2) {
    const vreal even = (g0 + g2) * R(0.5), odd = g1 * R(0.5);
    u[0] = g0;
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = g2;
}

DEVICE void transform_output(vreal *m) {
    const vreal sum = m[1] + m[2], difference = m[1] - m[2];
    m[0] += sum;
    m[1] = difference - m[3];
}

// The transpose of transform_output, for the gradient of the outputs
DEVICE void spread_output(vreal *m, const vreal *y) {
    m[0] = y[0];
    m[1] = y[0] + y[1];
    m[2] = y[0] - y[1];
    m[3] = -y[1];
}

// The transpose of transform_filter: the gradient of the taps
DEVICE void gather_filter(vreal *g, const vreal *u) {
    const vreal even = (u[1] + u[2]) * R(0.5);
    g[0] = u[0] + even;
    g[1] = (u[1] - u[2]) * R(0.5);
    g[2] = even + u[3];
}
#else
DEVICE void transform_input(vreal *d) {
    const vreal a = d[4] - d[2] * R(4), b = d[3] - d[1] * R(4), c = d[4] - d[2], e = (d[3] - d[1]) * R(2);
    d[0] = d[0] * R(4) - d[2] * R(5) + d[4];
    d[5] = d[1] * R(4) - d[3] * R(5) + d[5];
    d[1] = a + b;
    d[2] = a - b;
    d[3] = c + e;
    d[4] = c - e;
}

DEVICE void transform_filter(vreal *u, vreal g0, vreal g1, vreal g2) {
    const vreal near = (g0 + g2) * R(-1.0 / 6), far = g0 * R(1.0 / 24) + g2 * R(1.0 / 6);
    u[0] = g0 * R(0.25);
    u[1] = near - g1 * R(1.0 / 6);
    u[2] = near + g1 * R(1.0 / 6);
    u[3] = far + g1 * R(1.0 / 12);
    u[4] = far - g1 * R(1.0 / 12);
    u[5] = g2;
}

DEVICE void transform_output(vreal *m) {
    const vreal near = m[1] + m[2], near_odd = m[1] - m[2], far = m[3] + m[4], far_odd = m[3] - m[4];
    m[0] += near + far;
    m[1] = near_odd + far_odd * R(2);
    m[2] = near + far * R(4);
    m[3] = near_odd + far_odd * R(8) + m[5];
}

DEVICE void spread_output(vreal *m, const vreal *y) {
    const vreal even = y[0] + y[2], odd = y[1] + y[3], far = y[0] + y[2] * R(4), far_odd = y[1] * R(2) + y[3] * R(8);
    m[0] = y[0];
    m[1] = even + odd;
    m[2] = even - odd;
    m[3] = far + far_odd;
    m[4] = far - far_odd;
    m[5] = y[3];
}

DEVICE void gather_filter(vreal *g, const vreal *u) {
    const vreal near = (u[1] + u[2]) * R(1.0 / 6), far = u[3] + u[4];
    g[0] = u[0] * R(0.25) - near + far * R(1.0 / 24);
    g[1] = (u[2] - u[1]) * R(1.0 / 6) + (u[3] - u[4]) * R(1.0 / 12);
    g[2] = far * R(1.0 / 6) - near + u[5];
}
#endif
