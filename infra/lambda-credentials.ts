/**
 * Takes the place of the SDK's default credential chain in bundles. On Lambda the role's credentials stand in the
 * environment; the chain's other links (profiles, SSO, web identity, instance metadata, with the clients they bring)
 * cannot apply there and weigh 90 KB in every function. Same contract: a provider, called again once what it gave
 * expires; here nothing does, because the platform replaces the environment with the process.
 */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    // The name by which callers know it from an outage.
    throw Object.assign(new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set'), {
      name: 'CredentialsProviderError',
    });
  }
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
};

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
