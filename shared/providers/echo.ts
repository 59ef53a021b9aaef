import type { ProviderAdapter } from './types.ts';

/**
 * Repeats the message as one artifact named `echo`: its parts in their order, each as it is (text, raw, url and data,
 * with media type, file name and metadata). Nothing of the history, the context or the references is repeated, and no
 * url is fetched. Always completes; for a first try of an installation and for tests.
 */
export const echoAdapter: ProviderAdapter = {
  run: async ({ message }) => ({
    kind: 'completed',
    artifacts: [{ name: 'echo', parts: message.parts }],
  }),
};
