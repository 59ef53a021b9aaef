import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({
  early: 'changes',
  instant: 'changes',
  disordered: 'changes',
  disorderedSeparate: 'changes',
  polled: 'changes',
  lost: 'changes',
  liar: 'changes',
  stranger: 'changes',
});
