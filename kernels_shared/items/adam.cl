// One step of Adam for each parameter (MIOpen's kernels of that name say what is computed).
//
// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2; Adam takes lr / c1 * m / (sqrt(v) / sqrt(c2) + eps) off the parameter,
// with c = 1 - beta^step, by -expm1(step log(beta)), which does not cancel.
//
// Host defines, besides items.h's: AMSGRAD, MAXIMIZE, ADAMW, TRANSFORMERS, CORRECT_BIAS, 0 or 1; HAS_STEP, HAS_SCALE, HAS_FOUND,
// HAS_HALF where there are such tensors.
#include "items/items.h"

DEVICE real bias_correction(real beta, real step) {
    return beta > (real)0 ? -expm1(step * log(beta)) : (real)1;
}

KERNEL WG_SIZE(ITEMS, 1, 1)
adam(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    bool skipped = false;
    real count = step, scale = (real)1;
#ifdef HAS_FOUND
    skipped = found_inf[0] != 0;
#endif
#ifdef HAS_STEP
    count = (real)(state_step[0] + 1);
#endif
#ifdef HAS_SCALE
    scale = (real)grad_scale[0];
#endif
    const real c1 = bias_correction(beta1, count), c2 = bias_correction(beta2, count);
    EACH_NUMBER(i) {
        real p = IN(param, i), m = IN(exp_avg, i), v = IN(exp_avg_sq, i);
        real top = (real)0;
#if AMSGRAD
        top = IN(max_exp_avg_sq, i);
#endif
        if (!skipped) {
            real g = IN(grad, i) / scale;
#if MAXIMIZE
            g = -g;
#endif
#if !TRANSFORMERS
#if ADAMW
            p -= lr * weight_decay * p;
#else
            if (weight_decay != (real)0) g += p * weight_decay;
#endif
#endif
            m = m * beta1 + g * ((real)1 - beta1);
            v = v * beta2 + g * g * ((real)1 - beta2);
#if TRANSFORMERS
            const real rate = step_size >= (real)0 ? step_size : CORRECT_BIAS ? lr * sqrt(c2) / c1 : lr;
            p -= rate * m / (sqrt(v) + eps);
            p -= p * (lr * weight_decay);
#else
            real size = v;
#if AMSGRAD
            top = v > top ? v : top;
            size = top;
#endif
            p -= lr / c1 * m / (sqrt(size) / sqrt(c2) + eps);
#endif
        }
        OUT(param_out, i, p);
        OUT(exp_avg_out, i, m);
        OUT(exp_avg_sq_out, i, v);
#if AMSGRAD
        OUT(max_exp_avg_sq_out, i, top);
#endif
#ifdef HAS_HALF
        OUT(param_half, i, p);
#endif
    }
}
