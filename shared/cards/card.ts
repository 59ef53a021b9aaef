import type { AgentCard, AgentExtension, AgentInterface, AgentSkill } from '../protocol/index.ts';
import type { Client, Profile, Settings } from '../registry/types.ts';

export interface CardInput {
  readonly settings: Settings;
  /** Every registered profile; which of them are shown is decided here. */
  readonly profiles: readonly Profile[];
  /** Without a trailing slash (`publicBaseUrl`). */
  readonly baseUrl: string;
  /** Whether push notifications are served. */
  readonly push: boolean;
  /** Of the gateway (`GATEWAY_VERSION`). */
  readonly version: string;
}

/** Thrown when a card would lack content that the protocol requires; `field` is its path in the card. */
export class IncompleteCard extends Error {
  readonly tag = 'IncompleteCard';
  readonly field: string;
  constructor(field: string) {
    super(`the agent card would lack ${field}, which is required`);
    this.field = field;
  }
}

/**
 * The open card: published public profiles as skills (design §5 "Cards"). Throws `IncompleteCard` where a REQUIRED
 * text is empty; `skills` and the default modes may be empty, they are there nevertheless.
 */
export function gatewayCard(input: CardInput): AgentCard {
  return cardOf(input, gateway(input), input.profiles.filter(isOpen));
}

/**
 * The open card of one profile; its interface carries `tenant`. Undefined when the profile is unknown, unpublished or
 * not public: callers answer all three alike (P11). Throws `IncompleteCard`.
 */
export function profileCard(input: CardInput & { readonly profile: string }): AgentCard | undefined {
  return cardOfOne(input, isOpen);
}

/** What `GetExtendedAgentCard` answers without a tenant: every published profile granted to the client. */
export function extendedCard(input: CardInput & { readonly client: Client }): AgentCard {
  return cardOf(
    input,
    gateway(input),
    input.profiles.filter((profile) => isGranted(profile, input.client)),
  );
}

/**
 * What it answers with a tenant. A client replaces the profile's card by this one, so the interface must go on carrying
 * the tenant (T03). Undefined when the profile is unknown, unpublished or not granted.
 */
export function extendedProfileCard(
  input: CardInput & { readonly client: Client; readonly profile: string },
): AgentCard | undefined {
  return cardOfOne(input, (profile) => isGranted(profile, input.client));
}

function cardOfOne(
  input: CardInput & { readonly profile: string },
  shown: (profile: Profile) => boolean,
): AgentCard | undefined {
  const profile = input.profiles.find(({ id }) => id === input.profile);
  if (profile === undefined || !shown(profile)) return undefined;
  const { name, description, version, id } = profile;
  return cardOf(input, { name, description, version, tenant: id }, [profile]);
}

function isOpen(profile: Profile): boolean {
  return profile.published && profile.public;
}

function isGranted(profile: Profile, client: Client): boolean {
  return profile.published && (client.profiles.includes('*') || client.profiles.includes(profile.id));
}

interface Subject {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly tenant?: string;
}

function gateway({ settings, version }: CardInput): Subject {
  return { name: settings.gatewayName, description: settings.gatewayDescription, version };
}

function cardOf(input: CardInput, subject: Subject, profiles: readonly Profile[]): AgentCard {
  const { settings, baseUrl, push } = input;
  const { name, description, version, tenant } = subject;
  const extensions = unionOfExtensions(profiles);
  const provider = providerOf(settings);
  const card: AgentCard = {
    name,
    description,
    supportedInterfaces: [interfaceOf(baseUrl, tenant)],
    ...(provider === undefined ? {} : { provider }),
    version,
    capabilities: {
      streaming: settings.streaming,
      pushNotifications: push,
      ...(extensions.length === 0 ? {} : { extensions }),
      extendedAgentCard: settings.extendedCard,
    },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: { scheme: 'Bearer', description: 'A token issued by the administrator.' },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: union(profiles.map(({ inputModes }) => inputModes)),
    defaultOutputModes: union(profiles.map(({ outputModes }) => outputModes)),
    skills: profiles.map(skillOf),
  };
  requireContent(card);
  return card;
}

function interfaceOf(baseUrl: string, tenant: string | undefined): AgentInterface {
  return {
    // An empty base URL must not pass as the relative URL "/rpc".
    url: baseUrl === '' ? '' : `${baseUrl}/rpc`,
    protocolBinding: 'JSONRPC',
    ...(tenant === undefined ? {} : { tenant }),
    protocolVersion: '1.0',
  };
}

/** Optional as a whole; one that is stated needs both of its fields. */
function providerOf({ organization, organizationUrl }: Settings): AgentCard['provider'] {
  return organization === '' && organizationUrl === '' ? undefined : { organization, url: organizationUrl };
}

function skillOf(profile: Profile): AgentSkill {
  const { id, name, description, tags, examples, inputModes, outputModes } = profile;
  return {
    id,
    name,
    description,
    // A REQUIRED list has an entry (A2A 1.0 §5.7): stock clients take an empty one for a missing field.
    tags: tags.length === 0 ? [id] : [...tags],
    ...(examples.length === 0 ? {} : { examples: [...examples] }),
    ...(inputModes.length === 0 ? {} : { inputModes: [...inputModes] }),
    ...(outputModes.length === 0 ? {} : { outputModes: [...outputModes] }),
  };
}

/**
 * One entry per URI. `required` only where every profile of the card requires it: a client that does not know the
 * extension can still use the others, and the profile that needs it says so in its own card and by `-32008`.
 */
function unionOfExtensions(profiles: readonly Profile[]): AgentExtension[] {
  const uris = union(profiles.map(({ extensions }) => extensions.map(({ uri }) => uri)));
  return uris.map((uri) => {
    const stated = profiles.flatMap(({ extensions }) =>
      extensions.filter((extension) => extension.uri === uri),
    );
    const description = stated.find((extension) => (extension.description ?? '') !== '')?.description;
    const required = profiles.every(({ extensions }) =>
      extensions.some((extension) => extension.uri === uri && extension.required),
    );
    return {
      uri,
      ...(description === undefined ? {} : { description }),
      ...(required ? { required } : {}),
    };
  });
}

/** In the order of first appearance, each once. */
function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}

/** A02: what the types cannot say, that REQUIRED texts hold something. */
function requireContent(card: AgentCard): void {
  const required: [string, string][] = [
    ['name', card.name],
    ['description', card.description],
    ['version', card.version],
    ...card.supportedInterfaces.map(({ url }, at): [string, string] => [
      `supportedInterfaces[${at}].url`,
      url,
    ]),
    ...(card.provider === undefined
      ? []
      : [
          ['provider.organization', card.provider.organization] satisfies [string, string],
          ['provider.url', card.provider.url] satisfies [string, string],
        ]),
    ...(card.capabilities.extensions ?? []).map(({ uri }, at): [string, string] => [
      `capabilities.extensions[${at}].uri`,
      uri,
    ]),
    ...card.skills.flatMap(({ id, name, description }, at): [string, string][] => [
      [`skills[${at}].id`, id],
      [`skills[${at}].name`, name],
      [`skills[${at}].description`, description],
    ]),
  ];
  const empty = required.find(([, value]) => value === undefined || value.trim() === '');
  if (empty !== undefined) throw new IncompleteCard(empty[0]);
}
