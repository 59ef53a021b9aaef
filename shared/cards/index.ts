/** Agent cards: what they say, where they say it is reached, and who signed it (design §5 "Cards"). */
export { jwksUrl, PublicUrlUnknown, publicBaseUrl, type RoutedEvent } from './base-url.ts';
export {
  type CardInput,
  extendedCard,
  extendedProfileCard,
  gatewayCard,
  IncompleteCard,
  profileCard,
} from './card.ts';
export {
  type CardPublisher,
  createCardPublisher,
  etagOf,
  matchesEtag,
  type PublishedCard,
} from './publish.ts';
export { type CardKey, type CardSigner, SigningUnavailable, signCard } from './sign.ts';
export { GATEWAY_VERSION } from './version.ts';
