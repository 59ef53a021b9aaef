import manifest from '../../package.json' with { type: 'json' };

/** The gateway's own version, as its cards state it; the bundler takes it in when a function is built. */
export const GATEWAY_VERSION: string = manifest.version;
