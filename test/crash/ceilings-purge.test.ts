import { keepThroughDeath, keepThroughFrost } from './harness/keeping-suite.ts';

keepThroughDeath({
  purgeAgainstReads: 'accepted',
  purgeOfFinished: 'accepted',
  purgeAgainstRebuild: 'accepted',
  purgeAgainstDelivery: 'accepted',
});
keepThroughFrost({
  purgeAgainstReads: ['executor', 'projector', 'rpc'],
  purgeAgainstRebuild: ['admin', 'executor', 'projector'],
  purgeAgainstDelivery: ['delivery', 'projector', 'executor'],
});
