// Lints the page: make lint. Nothing of this is needed to build or to use it.

const browser = Object.fromEntries([
  'AbortController', 'Blob', 'CompressionStream', 'DecompressionStream', 'Path2D', 'Response', 'TextDecoder',
  'TextDecoderStream', 'TextEncoder', 'URL', 'URLSearchParams', 'addEventListener', 'atob', 'btoa', 'cancelAnimationFrame', 'clearTimeout', 'console',
  'devicePixelRatio', 'document', 'fetch', 'getComputedStyle', 'history', 'location', 'matchMedia', 'navigator',
  'performance', 'requestAnimationFrame', 'setTimeout', 'structuredClone', 'window',
].map((name) => [name, 'readonly']));

export default [{
  files: ['**/*.js'],
  languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: browser },
  rules: {
    'consistent-return': 'error',
    'default-case-last': 'error',
    eqeqeq: 'error',
    'max-lines': ['error', 300],
    'no-console': 'error',
    'no-constant-condition': 'error',
    'no-dupe-keys': 'error',
    'no-eval': 'error',
    'no-fallthrough': 'error',
    'no-implicit-globals': 'error',
    'no-redeclare': 'error',
    'no-self-assign': 'error',
    'no-shadow': 'error',
    'no-undef': 'error',
    'no-unreachable': 'error',
    'no-unused-vars': 'error',
    'no-useless-return': 'error',
    'no-var': 'error',
    'prefer-const': 'error',
    // comments of at most 100 columns
    'max-len': ['error', { code: 180, comments: 100, ignoreStrings: true, ignoreTemplateLiterals: true }],
  },
}];
