import { keepThroughDeath } from './harness/keeping-suite.ts';

keepThroughDeath({
  approved: 'accepted',
  approveAgainstCancel: 'accepted',
  approveAgainstReject: 'accepted',
  approveAgainstTighten: 'accepted',
});
