import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  outage: 'changes',
  lostAnswers: 'changes',
  pushless: 'changes',
  pushlessSeparate: 'changes',
});
