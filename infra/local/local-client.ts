/** What every AWS client of the local host is built with: a loopback endpoint and credentials that open nothing. */
export function localClient(endpoint: string) {
  return { endpoint, region: localRegion, credentials: localCredentials } as const;
}

export const localRegion = 'us-east-1';
export const localAccount = '000000000000';
export const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local' } as const;
