//! The ports of a wrapper, as the simulator drives them.

use crate::rtl::{Block, Bus, In, Out};

/// A stream into the wrapper.
#[allow(missing_docs)]
pub struct SinkPorts<'a> {
    pub tvalid: &'a mut Bus<In>,
    pub tready: &'a Bus<Out>,
    /// The beat in words.
    pub tdata: &'a mut [Bus<In>],
    pub tlast: Option<&'a mut Bus<In>>,
    pub tuser: Option<&'a mut Bus<In>>,
}

/// A stream out of the wrapper.
#[allow(missing_docs)]
pub struct SourcePorts<'a> {
    pub tvalid: &'a Bus<Out>,
    pub tready: &'a mut Bus<In>,
    /// The beat in words.
    pub tdata: &'a [Bus<Out>],
    pub tlast: Option<&'a Bus<Out>>,
    pub tuser: Option<&'a Bus<Out>>,
}

/// The register port.
#[allow(missing_docs)]
pub struct LitePorts<'a> {
    pub awaddr: &'a mut Bus<In>,
    pub awvalid: &'a mut Bus<In>,
    pub awready: &'a Bus<Out>,
    pub wdata: &'a mut Bus<In>,
    pub wstrb: &'a mut Bus<In>,
    pub wvalid: &'a mut Bus<In>,
    pub wready: &'a Bus<Out>,
    pub bresp: &'a Bus<Out>,
    pub bvalid: &'a Bus<Out>,
    pub bready: &'a mut Bus<In>,
    pub araddr: &'a mut Bus<In>,
    pub arvalid: &'a mut Bus<In>,
    pub arready: &'a Bus<Out>,
    pub rdata: &'a Bus<Out>,
    pub rresp: &'a Bus<Out>,
    pub rvalid: &'a Bus<Out>,
    pub rready: &'a mut Bus<In>,
}

/// The ports of a wrapper.
#[allow(missing_docs)]
pub struct AxisPorts<'a> {
    pub aclk: &'a mut Bus<In>,
    pub aresetn: &'a mut Bus<In>,
    pub q: SinkPorts<'a>,
    pub k: SinkPorts<'a>,
    pub v: SinkPorts<'a>,
    /// Where values are asked for.
    pub vreq: Option<SourcePorts<'a>>,
    pub o: SourcePorts<'a>,
    pub lite: LitePorts<'a>,
}

/// A wrapper as the simulator sees it.
pub trait AxisWrapper: Block + Send {
    /// The ports.
    fn ports(&mut self) -> AxisPorts<'_>;
}

/// Gives a wrapper's ports by stream.
macro_rules! axis_ports {
    ($name:ident) => {
        impl AxisWrapper for $name {
            fn ports(&mut self) -> AxisPorts<'_> {
                AxisPorts {
                    aclk: &mut self.aclk,
                    aresetn: &mut self.aresetn,
                    q: SinkPorts {
                        tvalid: &mut self.s_axis_q_tvalid,
                        tready: &self.s_axis_q_tready,
                        tdata: &mut self.s_axis_q_tdata,
                        tlast: Some(&mut self.s_axis_q_tlast),
                        tuser: None,
                    },
                    k: SinkPorts {
                        tvalid: &mut self.s_axis_k_tvalid,
                        tready: &self.s_axis_k_tready,
                        tdata: &mut self.s_axis_k_tdata,
                        tlast: Some(&mut self.s_axis_k_tlast),
                        tuser: self.s_axis_k_tuser.first_mut(),
                    },
                    v: SinkPorts {
                        tvalid: &mut self.s_axis_v_tvalid,
                        tready: &self.s_axis_v_tready,
                        tdata: &mut self.s_axis_v_tdata,
                        tlast: self.s_axis_v_tlast.first_mut(),
                        tuser: None,
                    },
                    vreq: self.m_axis_vreq_tready.first_mut().map(|tready| SourcePorts {
                        tvalid: &self.m_axis_vreq_tvalid[0],
                        tready,
                        tdata: &self.m_axis_vreq_tdata,
                        tlast: None,
                        tuser: None,
                    }),
                    o: SourcePorts {
                        tvalid: &self.m_axis_o_tvalid,
                        tready: &mut self.m_axis_o_tready,
                        tdata: &self.m_axis_o_tdata,
                        tlast: Some(&self.m_axis_o_tlast),
                        tuser: Some(&self.m_axis_o_tuser),
                    },
                    lite: LitePorts {
                        awaddr: &mut self.s_axil_awaddr,
                        awvalid: &mut self.s_axil_awvalid,
                        awready: &self.s_axil_awready,
                        wdata: &mut self.s_axil_wdata,
                        wstrb: &mut self.s_axil_wstrb,
                        wvalid: &mut self.s_axil_wvalid,
                        wready: &self.s_axil_wready,
                        bresp: &self.s_axil_bresp,
                        bvalid: &self.s_axil_bvalid,
                        bready: &mut self.s_axil_bready,
                        araddr: &mut self.s_axil_araddr,
                        arvalid: &mut self.s_axil_arvalid,
                        arready: &self.s_axil_arready,
                        rdata: &self.s_axil_rdata,
                        rresp: &self.s_axil_rresp,
                        rvalid: &self.s_axil_rvalid,
                        rready: &mut self.s_axil_rready,
                    },
                }
            }
        }
    };
}
pub(super) use axis_ports;
