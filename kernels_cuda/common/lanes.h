// A GPU's work-items have one lane each: there is nothing to transpose.
#define transpose(rows)
