// @ts-check
/** What the page calls kernels and parameters. */

/** Names of kernels on the page. */
export const KERNEL_NAMES = {
  linear: "Linear",
  rbf: "RBF",
  poly: "Polynomial",
  laplacian: "Laplacian",
  sigmoid: "Sigmoid",
};

/** Parameters of each kernel. */
export const KERNEL_PARAMETERS = {
  linear: [],
  rbf: ["gamma"],
  laplacian: ["gamma"],
  poly: ["gamma", "degree", "coef0"],
  sigmoid: ["gamma", "coef0"],
};

/** Names of parameters on the page, where they differ. */
export const PARAMETER_NAMES = {
  lam: "λ",
  gamma: "γ",
  degree: "Degree",
  scale: "c",
  batch_size: "Batch",
  seed: "Seed",
  noise: "Noise",
  test_share: "Test share",
  classes: "Classes",
  t: "Step t",
};
