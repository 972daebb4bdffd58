// What is read at a time: four channels of a pixel, and of a weight.

#import weight

alias source = elem4;
alias coefficient = weight4;
