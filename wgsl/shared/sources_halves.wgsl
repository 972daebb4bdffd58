// What is read at a time where halves are multiplied: four channels of a pixel, halves
// in two words, and of a weight eight.

#import halves

alias source = elem4;
alias coefficient = weight8;
