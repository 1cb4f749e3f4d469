// CUB's <cub/iterator/discard_output_iterator.cuh> for AMD targets: it is in <cub/iterator/counting_input_iterator.cuh>.
#pragma once
#include "counting_input_iterator.cuh"
