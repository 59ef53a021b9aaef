import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate authority that lives as long as the test process. */
export interface Authority {
  /** PEM, to hand to the guard as a trusted root. */
  readonly ca: string;
  /** A server certificate for these DNS names, signed by this authority, valid for a day. */
  issue(names: readonly string[]): Promise<ServerIdentity>;
}

/** What `tls.createServer` needs; PEM. */
export interface ServerIdentity {
  readonly key: string;
  readonly cert: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** Makes a new authority; two of them do not trust each other. */
export async function createAuthority(): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: 'CN=Test authority',
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    ca: root.toString('pem'),
    async issue(names) {
      const serverKeys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const certificate = await x509.X509CertificateGenerator.create({
        ...validity(),
        subject: 'CN=Test server',
        issuer: root.subject,
        publicKey: serverKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
        ],
      });
      const key = await crypto.subtle.exportKey('pkcs8', serverKeys.privateKey);
      return { key: x509.PemConverter.encode(key, 'PRIVATE KEY'), cert: certificate.toString('pem') };
    },
  };
}

function validity() {
  const now = Date.now();
  const serialNumber = `01${randomBytes(8).toString('hex')}`;
  return { serialNumber, notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) };
}
