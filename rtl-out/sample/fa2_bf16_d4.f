fa2_bf16_d4.v
