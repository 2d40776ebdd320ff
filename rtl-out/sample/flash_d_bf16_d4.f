flash_d_bf16_d4.v
