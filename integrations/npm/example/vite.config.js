export default { base: './', optimizeDeps: { exclude: ['tessera-vae'] } };
