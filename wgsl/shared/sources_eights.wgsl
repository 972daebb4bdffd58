// What is read at a time: eight channels of a pixel, halves in four words, and of a
// weight. Channels are a multiple of eight.

#import halves

alias source = vec4<u32>;
alias coefficient = weight8;
