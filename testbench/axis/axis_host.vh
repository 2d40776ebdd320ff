// Part of axis_tb: the register port and its checks.

    // The host. Address and data of a write come in any order, and answers are taken late.
    reg [31:0] host_random;
    task draw;
        begin
            host_random = host_random ^ (host_random << 13);
            host_random = host_random ^ (host_random >> 17);
            host_random = host_random ^ (host_random << 5);
        end
    endtask

    // What the register port has taken and answered at the last rising edge. The host acts at the falling one.
    reg address_taken, data_taken, read_taken, write_answered, read_answered;
    reg [1:0] write_response, read_response;
    reg [31:0] read_data;
    reg b_waits, r_answer_waits;
    reg [33:0] answer_before;
    reg [1:0] b_before;
    always @(posedge aclk) begin
        address_taken <= s_axil_awvalid & s_axil_awready;
        data_taken <= s_axil_wvalid & s_axil_wready;
        read_taken <= s_axil_arvalid & s_axil_arready;
        write_answered <= s_axil_bvalid & s_axil_bready;
        read_answered <= s_axil_rvalid & s_axil_rready;
        write_response <= s_axil_bresp;
        read_response <= s_axil_rresp;
        read_data <= s_axil_rdata;
        b_waits <= aresetn & s_axil_bvalid & ~s_axil_bready;
        r_answer_waits <= aresetn & s_axil_rvalid & ~s_axil_rready;
        b_before <= s_axil_bresp;
        answer_before <= {s_axil_rresp, s_axil_rdata};
        if (aresetn && !failed && (b_waits && (!s_axil_bvalid || s_axil_bresp !== b_before) ||
                r_answer_waits && (!s_axil_rvalid || {s_axil_rresp, s_axil_rdata} !== answer_before))) begin
            $display("TEST FAILED: at %0t: s_axil has not kept its answer", $time);
            failed = 1;
        end
    end

    reg [1:0] response;
    reg [31:0] word;
    integer address_wait, data_wait, host_wait;
    reg address_left, data_left, answer_left;
    task host_write(input [31:0] address, input [31:0] value);
        begin
            draw;
            address_wait = host_random[1:0];
            data_wait = host_random[3:2];
            {address_left, data_left, answer_left} = 3'b111;
            host_wait = 0;
            while (answer_left && !failed) begin
                @(negedge aclk);
                draw;
                if (address_taken) begin
                    s_axil_awvalid = 0;
                    s_axil_awaddr = ~0;
                    address_left = 0;
                end else if (address_left && !s_axil_awvalid) begin
                    s_axil_awvalid = address_wait == 0;
                    if (s_axil_awvalid) s_axil_awaddr = address[`AXIS_ADDRESS_BITS-1:0];
                    address_wait = address_wait - 1;
                end
                if (data_taken) begin
                    s_axil_wvalid = 0;
                    s_axil_wdata = ~0;
                    data_left = 0;
                end else if (data_left && !s_axil_wvalid) begin
                    s_axil_wvalid = data_wait == 0;
                    s_axil_wstrb = 15;
                    if (s_axil_wvalid) s_axil_wdata = value;
                    data_wait = data_wait - 1;
                end
                if (s_axil_bvalid && (address_left || data_left) && !failed) begin
                    $display("TEST FAILED: at %0t: an answer to a write that is not complete", $time);
                    failed = 1;
                end
                if (write_answered) begin
                    response = write_response;
                    answer_left = 0;
                    s_axil_bready = 0;
                end else s_axil_bready = host_random[0];
                no_hang;
            end
            checks = checks + 1;
        end
    endtask

    // Reads a register into `word`.
    task host_read(input [31:0] address);
        begin
            draw;
            address_wait = host_random[1:0];
            {address_left, answer_left} = 2'b11;
            host_wait = 0;
            while (answer_left && !failed) begin
                @(negedge aclk);
                draw;
                if (read_taken) begin
                    s_axil_arvalid = 0;
                    s_axil_araddr = ~0;
                    address_left = 0;
                end else if (address_left && !s_axil_arvalid) begin
                    s_axil_arvalid = address_wait == 0;
                    if (s_axil_arvalid) s_axil_araddr = address[`AXIS_ADDRESS_BITS-1:0];
                    address_wait = address_wait - 1;
                end
                if (s_axil_rvalid && address_left && !failed) begin
                    $display("TEST FAILED: at %0t: an answer to a read that was not asked", $time);
                    failed = 1;
                end
                if (read_answered) begin
                    response = read_response;
                    word = read_data;
                    answer_left = 0;
                    s_axil_rready = 0;
                end else s_axil_rready = host_random[0];
                no_hang;
            end
            checks = checks + 1;
        end
    endtask

    task no_hang;
        begin
            host_wait = host_wait + 1;
            if (host_wait == 1000 && !failed) begin
                $display("TEST FAILED: at %0t: the register port does not answer", $time);
                failed = 1;
            end
        end
    endtask

    task check_response(input [1:0] expected);
        begin
            if (response !== expected && !failed) begin
                $display("TEST FAILED: at %0t: an access was answered with %0d, expected %0d", $time, response, expected);
                failed = 1;
            end
        end
    endtask

    task set(input [31:0] address, input [31:0] value);
        begin
            host_write(address, value);
            check_response(2'd0);
        end
    endtask

    task get(input [31:0] address);
        begin
            host_read(address);
            check_response(2'd0);
        end
    endtask

    task check_number(input [8*16-1:0] name, input [31:0] expected, input [31:0] actual);
        begin
            checks = checks + 1;
            if (actual !== expected && !failed) begin
                $display("TEST FAILED: at %0t: %0s: expected %0d, got %0d", $time, name, expected, actual);
                failed = 1;
            end
        end
    endtask
