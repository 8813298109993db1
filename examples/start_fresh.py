"""Start fresh: a network that tells horizontal bars from vertical ones, from the first array to the trained weights."""

import numpy as np

import portadnn as dnn

rng = np.random.default_rng(0)


def bars(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy images (n, 1, 12, 12) of one bar each, and (n, 2, 1, 1) with a 1 for its direction."""
    images = rng.normal(0, 0.3, (count, 1, 12, 12))
    targets = np.zeros((count, 2, 1, 1))
    for image, target in zip(images, targets, strict=True):
        vertical, place = int(rng.integers(2)), int(rng.integers(12))
        image[0, place] += 1 - vertical
        image[0, :, place] += vertical
        target[vertical] = 1
    return images, targets


# 1. Descriptors say what a layer does. They are checked when they are made, and belong to no device.
conv = dnn.ConvolutionDescriptor(padding=(1, 1))
whole = dnn.ConvolutionDescriptor()  # with a filter as large as its input: a fully connected layer
relu = dnn.ActivationDescriptor("relu")
pool = dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))

# 2. A handle is a device. Everything below runs on whichever it is.
with dnn.Handle() as handle:
    # 3. Arrays are the backend's own; dims are n c h w, those of filters k c r s.
    w1 = handle.asarray(rng.normal(0, 0.3, (8, 1, 3, 3)), "float32")
    w2 = handle.asarray(rng.normal(0, 0.1, (2, 8, 6, 6)), "float32")
    scale, bias = handle.asarray(np.ones((1, 8, 1, 1)), "float32"), handle.zeros((1, 8, 1, 1))
    mean, inv_variance = handle.empty((1, 8, 1, 1)), handle.empty((1, 8, 1, 1))
    velocity1, velocity2 = handle.zeros(w1.shape), handle.zeros(w2.shape)

    for step in range(40):
        images, targets = bars(64)
        x, target = handle.asarray(images, "float32"), handle.asarray(targets, "float32")

        # 4. Forward. Outputs that are left out are allocated; here batch normalisation saves what its gradient needs.
        a = dnn.convolution_forward(handle, x, w1, conv)
        b = dnn.batch_normalization_forward_training(
            handle, a, scale, bias, saved_mean=mean, saved_inv_variance=inv_variance
        )
        c = dnn.activation_forward(handle, b, relu)
        d = dnn.pooling_forward(handle, c, pool)
        log_p = dnn.softmax_forward(handle, dnn.convolution_forward(handle, d, w2, whole), algorithm="log")

        # 5. Backward: the gradient of the mean of -log p(target), layer by layer in the opposite order.
        dy = dnn.softmax_backward(handle, log_p, target, algorithm="log", alpha=-1 / 64)
        dnn.convolution_backward_filter(handle, d, dy, whole, velocity2, beta=0.9)  # velocity = gradient + 0.9 velocity
        dd = dnn.convolution_backward_data(handle, w2, dy, whole, handle.empty(d.shape))
        dc = dnn.pooling_backward(handle, d, dd, c, pool)
        db = dnn.activation_backward(handle, c, dc, b, relu)
        da, dscale, dbias = dnn.batch_normalization_backward(handle, a, db, scale, mean, inv_variance)
        dnn.convolution_backward_filter(handle, x, da, conv, velocity1, beta=0.9)

        # 6. Learn: weights += -0.1 * velocity, in place on the device.
        for weights, gradient in ((w1, velocity1), (w2, velocity2), (scale, dscale), (bias, dbias)):
            dnn.add_tensor(handle, gradient, weights, alpha=-0.1)

        # 7. Look. Only to_numpy waits for the device.
        if step % 13 == 0:
            loss = -np.mean(np.sum(handle.to_numpy(log_p) * targets, axis=1))
            print(f"step {step}: loss {loss:.3f}")

    right = handle.to_numpy(log_p).argmax(axis=1) == targets.argmax(axis=1)
    print(f"{handle.info.name}: {right.mean():.0%} of the last images are read rightly")
